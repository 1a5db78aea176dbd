import { Client } from "@langchain/langgraph-sdk";
import { describe, expect, it } from "vitest";
import { drawDatabases, useDatabase } from "../helpers/databases.ts";
import { useRunServers } from "../helpers/run-server.ts";

/** Waits for two events, one after the other. */
const ordering = {
  name: "ordering",
  workflow_graph: {
    entry_point: "paid",
    nodes: [
      {
        name: "paid",
        type: "wait",
        config: {
          event: "order.paid",
          schema: {
            type: "object",
            properties: { amount: { type: "integer" } },
            required: ["amount"],
          },
        },
      },
      { name: "shipped", type: "wait", config: { event: "order.shipped" } },
    ],
    edges: [
      { from: "paid", to: "shipped" },
      { from: "shipped", to: "END" },
    ],
    output: { message: "${string(nodes.paid.value.amount)} ${string(nodes.shipped.value)}" },
  },
};

describe.each(drawDatabases(import.meta.url))("events for runs on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  const serve = async () => {
    const api = await start([]);
    const runs = await api.agent(ordering);
    const { json } = await api.post(runs, { input: { message: "Hi" } });
    const path = `${runs}/${String(json["run_id"])}`;
    await api.until(path, "awaiting_event");
    const send = (name: string, payload: unknown, more: object = {}) =>
      api.post(`${path}/events`, { name, payload }, more);
    return { api, path, send, id: String(json["run_id"]) };
  };
  const outputOf = (run: Record<string, unknown>) =>
    (run["result"] as { output: { message: string } }).output.message;

  it.skipIf(!database.available)("continue the node that waits for them", async () => {
    const { api, path, send, id } = await serve();
    const run = await api.send("GET", path);
    expect(run.json["result"]).toMatchObject({
      output: { waits: [{ node: "paid", event: "order.paid", expires_at: null }] },
    });
    const delivered = { status: 202, json: { status: "delivered", run_id: id } };
    expect(await send("order.paid", { amount: 5 })).toMatchObject(delivered);
    await expect
      .poll(async () => {
        const { json } = await api.send("GET", "/v1/waits");
        return (json["waits"] as { event: string }[])[0]?.event;
      })
      .toBe("order.shipped");
    expect(await send("order.shipped", "today")).toMatchObject(delivered);
    expect(outputOf(await api.until(path, "complete"))).toBe("5 today");
  });

  it.skipIf(!database.available)("are kept for a node that waits later", async () => {
    const { api, path, send } = await serve();
    const kept = { status: 202, json: { status: "kept", run_id: null } };
    expect(await send("order.shipped", "early")).toMatchObject(kept);
    expect(await send("order.shipped", "again")).toMatchObject(kept);
    await send("order.paid", { amount: 5 });
    expect(outputOf(await api.until(path, "complete"))).toBe("5 early");
  });

  it.skipIf(!database.available)("are refused with pointers where they do not fit", async () => {
    const { api, path, send } = await serve();
    const refused = await send("order.paid", { amount: "x" });
    expect(refused).toMatchObject({
      status: 422,
      json: { code: "invalid_payload", errors: [{ pointer: "/payload/amount" }] },
    });
    expect((await send("order.paid", 7)).json).toMatchObject({ errors: [{ pointer: "/payload" }] });
    for (const [body, status, pointer] of [
      [{ name: "two words" }, 400, "/name"],
      [{ name: "a", as: "other" }, 400, "/as"],
      [{ name: "a", as: "message" }, 400, "/payload"],
      [{ name: "a", payload: "x".repeat(70_000) }, 400, "/payload"],
    ] as const) {
      const wrong = await api.post(`${path}/events`, body);
      expect([wrong.status, wrong.json]).toMatchObject([status, { errors: [{ pointer }] }]);
    }
    const huge = await api.post(`${path}/events`, { name: "a", payload: "x".repeat(140_000) });
    expect(huge.status).toBe(413);
    expect((await api.send("GET", path)).json["status"]).toBe("awaiting_event");
  });

  it.skipIf(!database.available)("that were kept and do not fit are dropped", async () => {
    const api = await start([]);
    const { workflow_graph: graph } = ordering;
    const [paid, shipped] = graph.nodes;
    const turned = {
      ...ordering,
      workflow_graph: {
        ...graph,
        entry_point: "shipped",
        nodes: [shipped, paid],
        edges: [
          { from: "shipped", to: "paid" },
          { from: "paid", to: "END" },
        ],
      },
    };
    const runs = await api.agent(turned);
    const { json } = await api.post(runs, { input: { message: "Hi" } });
    const path = `${runs}/${String(json["run_id"])}`;
    await api.until(path, "awaiting_event");
    const send = (name: string, payload: unknown) => api.post(`${path}/events`, { name, payload });
    await send("order.paid", "none");
    await send("order.paid", { amount: 7 });
    await send("order.shipped", "today");
    expect(outputOf(await api.until(path, "complete"))).toBe("7 today");
  });

  it.skipIf(!database.available)("are sent once with an Idempotency-Key", async () => {
    const { api, path, send } = await serve();
    const headers = { "idempotency-key": "once" };
    await send("order.shipped", "first", { headers });
    const again = await send("order.shipped", "first", { headers });
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    const kept = await api.base.platform.tenantRows.count(api.tenantId);
    expect(kept["thread_event"]).toBe(1);
    await send("order.paid", { amount: 1 });
    expect(outputOf(await api.until(path, "complete"))).toBe("1 first");
  });

  it.skipIf(!database.available)(
    "need runs:write, and reach runs of their tenant alone",
    async () => {
      const { api, path } = await serve();
      const reader = await api.join(["runs:read", "requests:answer"], api.tenantId);
      const stranger = await api.join();
      const body = { name: "order.paid", payload: { amount: 1 } };
      const sent = (key: string) => api.send("POST", `${path}/events`, { body, key });
      expect((await sent(reader.key)).status).toBe(403);
      expect((await sent(stranger.key)).status).toBe(404);
      expect((await api.send("GET", path)).json["status"]).toBe("awaiting_event");
    },
  );

  it.skipIf(!database.available)("continue runs of LangGraph's protocol", async () => {
    const { api } = await serve();
    const apiUrl = `http://127.0.0.1:${api.port}`;
    const client = new Client({ apiUrl, apiKey: api.key, callerOptions: { maxRetries: 0 } });
    const [assistant] = await client.assistants.search();
    const { thread_id: threadId } = await client.threads.create();
    const input = { input: { message: "Hi" } };
    await client.runs.wait(threadId, "ordering", { input });
    expect((await client.threads.get(threadId)).status).toBe("interrupted");
    const [run] = await client.runs.list(threadId);
    const path = `/v1/agents/${assistant!.assistant_id}/runs/${run!.run_id}/events`;
    await api.post(path, { name: "order.shipped", payload: "early" });
    const sent = await api.post(path, { name: "order.paid", payload: { amount: 2 } });
    expect(sent.json).toMatchObject({ status: "delivered" });
    await expect.poll(async () => (await client.threads.get(threadId)).status).toBe("idle");
    const { values } = await client.threads.getState<{ output: unknown }>(threadId);
    expect(values.output).toEqual({ message: "2 early" });
  });
});
