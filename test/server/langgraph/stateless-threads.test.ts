import { AIMessage } from "@langchain/core/messages";
import { Client } from "@langchain/langgraph-sdk";
import { describe, expect, it } from "vitest";
import { withAllTenants } from "../../../src/storage/tenant.ts";
import { drawDatabases, useDatabase } from "../../helpers/databases.ts";
import { gate, type RunServer, useRunServers } from "../../helpers/run-server.ts";

const question = { input: { message: "What is 6 * 7?" } };
const plainAgent = { name: "plain" };

function clientOf(api: Pick<RunServer, "port" | "key">): Client {
  const apiUrl = `http://127.0.0.1:${api.port}`;
  return new Client({ apiUrl, apiKey: api.key, callerOptions: { maxRetries: 0 } });
}

describe.each(drawDatabases(import.meta.url))("threads of stateless runs on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  /** The number of runs of a thread, and whether it has a checkpoint. */
  const stored = async ({ base, tenantId }: RunServer, threadId: string) => {
    const configurable = { thread_id: threadId, checkpoint_ns: "" };
    const tuple = await base.runtimes.use(tenantId, async ({ runtime }) =>
      runtime.checkpointer?.getTuple({ configurable }),
    );
    const { items } = await base.platform.runs.list(tenantId, { threadId });
    return { runs: items.length, hasCheckpoint: tuple !== undefined };
  };
  /** Moves the threads of a server's tenant into the past. */
  const age = (api: RunServer, ids: readonly string[], seconds: number) =>
    withAllTenants(database.shared.pool, (client) =>
      client.query(
        `update stratagraph.agent_instance set updated_at = now() - $3 * interval '1 s'
        where tenant_id = $1 and thread_id = any($2)`,
        [api.tenantId, ids, seconds],
      ),
    );

  it.skipIf(!database.available)(
    "are deleted by another process a minute after their run has ended",
    async () => {
      const held = gate();
      const api = await start([
        "old",
        "new",
        "kept",
        "own",
        async () => (await held.wait(), new AIMessage("")),
      ]);
      await api.agent(plainAgent);
      const { threads, runs } = clientOf(api);
      const stateless = async (onCompletion?: "keep") => {
        const made = await runs.create(null, "plain", {
          input: question,
          // The SDK's type has values that LangGraph's server refuses.
          ...(onCompletion && { onCompletion: onCompletion as never }),
        });
        await runs.join(made.thread_id, made.run_id);
        return made.thread_id;
      };
      const [old, young, kept] = [await stateless(), await stateless(), await stateless("keep")];
      const { thread_id: own } = await threads.create();
      await runs.wait(own, "plain", { input: question });
      const { thread_id: running } = await runs.create(null, "plain", { input: question });
      await held.arrived;
      await age(api, [old, kept, own, running], 61);
      // Far from a minute, however long the rest of the test takes.
      await age(api, [young], 10);

      const other = clientOf({ ...(await start([])), key: api.key });
      await expect
        .poll(() => other.threads.get(old).catch((thrown: { status: number }) => thrown.status))
        .toBe(404);
      for (const id of [young, kept, own, running])
        expect(await other.threads.get(id)).toMatchObject({ thread_id: id });
      expect(await stored(api, old)).toEqual({ runs: 0, hasCheckpoint: false });
      expect(await stored(api, kept)).toEqual({ runs: 1, hasCheckpoint: true });
      const { items } = await api.server.platform.audit.list(api.tenantId);
      expect(items.filter(({ action }) => action === "thread.delete")).toMatchObject([
        { actor: "system", subject: old },
      ]);
      held.open();
    },
  );
});
