import { AIMessage } from "@langchain/core/messages";
import { Client } from "@langchain/langgraph-sdk";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool } from "../../../src/index.ts";
import { drawDatabases, useDatabase } from "../../helpers/databases.ts";
import {
  calculates,
  gate,
  helper,
  type RunServer,
  useRunServers,
} from "../../helpers/run-server.ts";

const question = { input: { message: "What is 6 * 7?" } };
const plainAgent = { name: "plain", tools: ["calculator"] };

/** Asks a person, and then a model. */
const desk = {
  name: "desk",
  workflow_graph: {
    entry_point: "ask",
    nodes: [
      { name: "ask", type: "human", config: { kind: "approval", prompt: "Send it?" } },
      { name: "draft", type: "llm", config: { prompt: "Say something." } },
    ],
    edges: [
      { from: "ask", to: "draft" },
      { from: "draft", to: "END" },
    ],
  },
};
const office = {
  name: "office",
  workflow_graph: {
    entry_point: "inside",
    nodes: [
      { name: "inside", type: "agent", config: { agent: "desk", input: { message: "Hello" } } },
    ],
    edges: [{ from: "inside", to: "END" }],
  },
};

function clientOf(api: Pick<RunServer, "port" | "key">): Client {
  const apiUrl = `http://127.0.0.1:${api.port}`;
  return new Client({ apiUrl, apiKey: api.key, callerOptions: { maxRetries: 0 } });
}

/** A reply that is awaited until the run is cancelled. */
function hanging() {
  const held = gate();
  const reply = (_request: unknown, { signal }: { readonly signal?: AbortSignal }) => {
    held.wait().catch(() => {});
    return new Promise<AIMessage>((_resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason as Error));
    });
  };
  return { reply, asked: held.arrived };
}

/** All that a caller sees of a thread. */
async function seen({ threads, runs }: Client, id: string) {
  const { updated_at: _, ...thread } = await threads.get(id);
  const state = await threads.getState(id, undefined, { subgraphs: true });
  const history = await threads.getHistory(id, { limit: 100 });
  return { thread, state, history, runs: await runs.list(id) };
}

describe.each(drawDatabases(import.meta.url))("a run that is rolled back on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);
  const verify = ({ base, tenantId }: RunServer, threadId: string) =>
    base.runtimes.use(tenantId, ({ runtime }) => runtime.threads.verify(threadId));

  it.skipIf(!database.available)(
    "leaves nothing in the states, the history and the context of the next turn",
    async () => {
      const { reply, asked } = hanging();
      const api = await start(["Hello.", calculates, reply, "Again."]);
      await api.agent(plainAgent);
      const client = clientOf(api);
      const { threads, runs } = client;
      const { thread_id: id } = await threads.create();
      await runs.wait(id, "plain", { input: { input: { message: "Hi." } } });
      const before = await seen(client, id);

      const rolled = await runs.create(id, "plain", { input: question });
      await asked;
      expect((await threads.getHistory(id, { limit: 100 })).length).toBeGreaterThan(
        before.history.length,
      );
      await runs.cancel(id, rolled.run_id, false, "rollback");
      expect(await seen(client, id)).toEqual(before);
      await expect(runs.get(id, rolled.run_id)).rejects.toMatchObject({ status: 404 });
      expect(await verify(api, id)).toMatchObject({ damaged: [] });

      const input = { input: { message: "Once more." } };
      expect(await runs.wait(id, "plain", { input })).toMatchObject({
        turn_number: 1,
        output: { message: "Again." },
      });
      expect(api.model.read(3).join("\n")).toContain("Hi.");
      expect(api.model.read(3).join("\n")).not.toMatch(/6 \* 7|42/);
    },
  );

  it.skipIf(!database.available)(
    "gives back the request that it answered, and no call is made twice",
    async () => {
      const { reply, asked } = hanging();
      let sent = 0;
      const send = defineTool({
        name: "send",
        description: "Sends a letter.",
        input_schema: z.object({}),
        handler: () => ({ sent: (sent += 1) }),
      });
      const sends = { calls: [{ name: "send", args: {} }] };
      const api = await start([sends, reply, "It is sent."], { tools: [send] });
      const rails = { tool_rails: { require_approval: ["send"] } };
      await api.agent({ name: "sender", tools: ["send"], guardrail_config: rails });
      const client = clientOf(api);
      const { threads, runs } = client;
      const { thread_id: id } = await threads.create();
      await runs.wait(id, "sender", { input: question });
      const before = await seen(client, id);
      expect(before.thread.status).toBe("interrupted");

      const answer = { command: { resume: { decision: "approve" } } };
      const rolled = await runs.create(id, "sender", answer);
      await asked;
      await runs.cancel(id, rolled.run_id, false, "rollback");
      expect(await seen(client, id)).toEqual(before);
      expect(await runs.wait(id, "sender", answer)).toMatchObject({
        output: { message: "It is sent." },
      });
      expect(sent).toBe(1);
    },
  );

  it.skipIf(!database.available)("gives back a request of an agent inside of it", async () => {
    const { reply, asked } = hanging();
    const api = await start([reply, "Sent."]);
    await api.agent(desk);
    await api.agent(office);
    const client = clientOf(api);
    const { threads, runs } = client;
    const { thread_id: id } = await threads.create();
    await runs.wait(id, "office", { input: question });
    const before = await seen(client, id);
    expect(before.thread.status).toBe("interrupted");

    const answer = { command: { resume: { decision: "approve" } } };
    const rolled = await runs.create(id, "office", answer);
    await asked;
    await runs.cancel(id, rolled.run_id, false, "rollback");
    expect(await seen(client, id)).toEqual(before);
    expect(await runs.wait(id, "office", answer)).toMatchObject({ status: "COMPLETED" });
  });

  it.skipIf(!database.available)("is undone by the worker that claims it next", async () => {
    const { reply, asked } = hanging();
    const first = await start([calculates, reply]);
    await first.agent(helper);
    const client = clientOf(first);
    const { thread_id: id } = await client.threads.create();
    await client.runs.wait(id, "helper", { input: question });
    const before = await seen(client, id);
    const answer = { command: { resume: { decision: "approve" } } };
    const rolled = await client.runs.create(id, "helper", answer);
    const behind = await client.runs.create(id, "helper", {
      ...answer,
      multitaskStrategy: "enqueue",
    });
    await asked;
    await first.server.close(0);

    const idle = await start([], { concurrency: 0 });
    const there = clientOf({ ...idle, key: first.key });
    await there.runs.cancel(id, behind.run_id, false, "rollback");
    await expect(there.runs.get(id, behind.run_id)).rejects.toMatchObject({ status: 404 });
    const cancelled = there.runs.cancel(id, rolled.run_id, false, "rollback");
    const { runs } = idle.base.platform;
    const state = () => runs.get(first.tenantId, rolled.run_id);
    await expect.poll(state).toMatchObject({ state: "queued", rollback: "asked" });
    await start([]);
    await cancelled;
    expect(await seen(there, id)).toEqual(before);
  });

  it.skipIf(!database.available)("stays if it ended before", async () => {
    const api = await start(["Hello."]);
    await api.agent(plainAgent);
    const client = clientOf(api);
    const { thread_id: id } = await client.threads.create();
    await client.runs.wait(id, "plain", { input: question });
    const before = await seen(client, id);
    await client.runs.cancel(id, before.runs[0]!.run_id, false, "rollback");
    expect(await seen(client, id)).toEqual(before);
  });
});
