import { Client } from "@langchain/langgraph-sdk";
import { describe, expect, it } from "vitest";
import { drawDatabases, useDatabase } from "../../helpers/databases.ts";
import { calculates, type RunServer, useRunServers } from "../../helpers/run-server.ts";

const question = { input: { message: "What is 6 * 7?" } };

function clientOf(api: Pick<RunServer, "port" | "key">): Client {
  const apiUrl = `http://127.0.0.1:${api.port}`;
  return new Client({ apiUrl, apiKey: api.key, callerOptions: { maxRetries: 0 } });
}

describe.each(drawDatabases(import.meta.url))("event streaming of LangGraph on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  it.skipIf(!database.available)("starts a run, and reads its events and state", async () => {
    const api = await start([calculates, "It is 42."]);
    await api.agent({ name: "plain", tools: ["calculator"] });
    const thread = clientOf(api).threads.stream({ assistantId: "plain" });
    const events = await thread.subscribe({
      channels: ["lifecycle", "values", "messages", "updates", "tools"],
    });
    const read = (async () => {
      const methods = new Set<string>();
      for await (const { method } of events) methods.add(method);
      return methods;
    })();
    const { run_id } = await thread.run.start({ input: question });
    expect(run_id).toMatch(/^[0-9a-f-]{36}$/);
    expect(await thread.output).toMatchObject({
      status: "COMPLETED",
      output: { message: "It is 42." },
    });
    expect([...(await read)]).toEqual(expect.arrayContaining(["lifecycle", "values", "updates"]));
    const state = await thread.state.get({ namespace: [], keys: ["status"] });
    expect(state).toMatchObject({ values: { status: "COMPLETED" } });
    await expect(thread.agent.getTree()).rejects.toThrow("not available over HTTP");
    await thread.close();
  });

  it.skipIf(!database.available)("shows an interrupt, and takes the response", async () => {
    const api = await start([calculates, "It is 42."]);
    await api.agent();
    const thread = clientOf(api).threads.stream({ assistantId: "helper" });
    await thread.run.start({ input: question });
    await thread.output;
    expect(thread.interrupted).toBe(true);
    const [asked] = thread.interrupts;
    expect(asked).toMatchObject({ payload: { kind: "tool_approval" }, namespace: [] });
    const events = await thread.subscribe({ channels: ["lifecycle"] });
    await thread.input.respond({
      namespace: [],
      interrupt_id: asked!.interruptId,
      response: "approve",
    });
    for await (const { params } of events)
      if ((params.data as { event: string }).event === "completed") break;
    expect(await thread.state.get({ namespace: [] })).toMatchObject({
      values: { status: "COMPLETED" },
    });
    await thread.close();
  });

  it.skipIf(!database.available)(
    "shows other tenants nothing, and takes responses from those who may answer",
    async () => {
      const api = await start([calculates, "It is 42."]);
      await api.agent();
      const thread = clientOf(api).threads.stream({ assistantId: "helper" });
      await thread.run.start({ input: question });
      await thread.output;
      const [asked] = thread.interrupts;
      const response = {
        namespace: [],
        interrupt_id: asked!.interruptId,
        response: "approve",
      };
      const of = async (tenantId?: string) => {
        const scopes = ["runs:read", "runs:write", "checkpoints:read"] as const;
        const caller = await api.join([...scopes], tenantId);
        const client = clientOf({ ...api, ...caller });
        return client.threads.stream(thread.threadId, { assistantId: "helper" });
      };
      const reader = await of(api.tenantId);
      await expect(reader.input.respond(response)).rejects.toThrow("403");
      const stranger = await of();
      await expect(stranger.input.respond(response)).rejects.toThrow("No run was started");
      await expect(stranger.state.get({ namespace: [] })).rejects.toThrow("404");
      await Promise.all([thread, reader, stranger].map((one) => one.close()));
    },
  );
});
