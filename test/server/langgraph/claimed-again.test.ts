import type { AIMessage } from "@langchain/core/messages";
import { Client } from "@langchain/langgraph-sdk";
import { describe, expect, it } from "vitest";
import { drawDatabases, useDatabase } from "../../helpers/databases.ts";
import { calculates, gate, type RunServer, useRunServers } from "../../helpers/run-server.ts";

const question = { input: { message: "What is 6 * 7?" } };

function clientOf(api: Pick<RunServer, "port" | "key">): Client {
  const apiUrl = `http://127.0.0.1:${api.port}`;
  return new Client({ apiUrl, apiKey: api.key, callerOptions: { maxRetries: 0 } });
}

describe.each(drawDatabases(import.meta.url))("a run that is claimed again on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  it.skipIf(!database.available)(
    "continues from its checkpoints, and does not begin its input again",
    async () => {
      const held = gate();
      const hangs = async (
        _request: unknown,
        { signal }: { readonly signal?: AbortSignal },
      ): Promise<AIMessage> => {
        held.wait().catch(() => {});
        return new Promise<never>((_resolve, reject) => {
          signal?.addEventListener("abort", () => reject(signal.reason as Error));
        });
      };
      const first = await start([calculates, hangs]);
      await first.agent({ name: "plain", tools: ["calculator"] });
      const { threads, runs } = clientOf(first);
      const { thread_id: id } = await threads.create();
      const { run_id } = await runs.create(id, "plain", { input: question });
      await held.arrived;
      const before = await threads.getHistory(id, { limit: 100 });
      await first.server.close(0);

      const second = await start(["It is 42."]);
      const there = clientOf({ ...second, key: first.key });
      expect(await there.runs.join(id, run_id)).toMatchObject({
        status: "COMPLETED",
        output: { message: "It is 42." },
        turn_number: 0,
      });
      const history = await there.threads.getHistory(id, { limit: 100 });
      expect(history.length).toBeGreaterThan(before.length);
      expect(history.slice(-before.length)).toMatchObject(
        before.map(({ checkpoint }) => ({ checkpoint })),
      );
      const sources = history.map(({ metadata }) => metadata?.["source"]);
      expect(sources.filter((source) => source === "input")).toHaveLength(1);
      expect(history.every(({ metadata }) => metadata?.["run_id"] === run_id)).toBe(true);
    },
  );
});
