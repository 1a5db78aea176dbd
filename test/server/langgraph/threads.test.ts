import { Client } from "@langchain/langgraph-sdk";
import { describe, expect, it } from "vitest";
import { useDatabase } from "../../helpers/databases.ts";
import {
  calculates,
  gate,
  helper,
  type RunServer,
  useRunServers,
} from "../../helpers/run-server.ts";

const plain = { name: "helper" };
const unknownId = "00000000-0000-7000-8000-000000000000";

function clientOf(api: RunServer, key = api.key): Client {
  return new Client({
    apiUrl: `http://127.0.0.1:${api.port}`,
    apiKey: key,
    callerOptions: { maxRetries: 0 },
  });
}

/** Runs a turn on a thread by /v1, and returns the path of its run. */
async function runOn(
  api: RunServer,
  runs: string,
  of: { thread?: string; message?: string; until?: string } = {},
) {
  const { thread, message = "Hi.", until = "complete" } = of;
  const body = { input: { message }, ...(thread !== undefined && { thread_id: thread }) };
  const { json, status } = await api.post(runs, body);
  expect(status).toBe(202);
  const path = `${runs}/${String(json["run_id"])}`;
  await api.until(path, until);
  return { path, threadId: String(json["thread_id"]) };
}

/** The status of the answer with which a request was refused. */
async function refusal(request: Promise<unknown>): Promise<unknown> {
  try {
    await request;
    return "accepted";
  } catch (thrown) {
    return (thrown as { status?: unknown }).status;
  }
}

const ids = (threads: readonly { readonly thread_id: string }[]) =>
  threads.map(({ thread_id }) => thread_id);

describe.each(["pglite", "postgres"] as const)("threads of LangGraph's protocol on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  describe.skipIf(!database.available)("as rows", () => {
    it("exist before a run, and get their agent from the first one", async () => {
      const api = await start(["Hello."]);
      const client = clientOf(api);
      const thread = await client.threads.create({ metadata: { user: "ada" } });
      expect(thread).toMatchObject({
        status: "idle",
        metadata: { user: "ada" },
        values: null,
        interrupts: {},
        created_at: thread.updated_at,
      });
      const { thread_id: id } = thread;
      expect((await api.send("GET", `/v1/threads/${id}`)).json).toMatchObject({
        agent: null,
        agent_id: null,
      });
      expect(await client.threads.getState(id)).toEqual({
        values: {},
        next: [],
        tasks: [],
        created_at: null,
        checkpoint: null,
        parent_checkpoint: null,
      });
      expect(await client.threads.getHistory(id)).toEqual([]);
      const runs = await api.agent(plain);
      await runOn(api, runs, { thread: id });
      const after = await client.threads.get(id);
      const [, , , agentId] = runs.split("/");
      expect(after).toMatchObject({
        status: "idle",
        metadata: { user: "ada", graph_id: "helper", assistant_id: agentId },
        values: { status: "COMPLETED" },
      });
      expect(after.updated_at > thread.updated_at).toBe(true);
      const other = await api.agent({ name: "other" });
      const foreign = await api.post(other, { input: { message: "Hi." }, thread_id: id });
      expect(foreign.status).toBe(409);
    });

    it("get one agent when runs of two begin at the same time", async () => {
      const api = await start([]);
      const { instances } = api.base.platform;
      const made = await instances.create(api.tenantId, { threadId: "t", agent: null });
      expect(made).toMatchObject({ agent: null, isNew: true });
      const names = ["one", "two", "three", "four"];
      const all = await Promise.allSettled(
        names.map((agent) => instances.create(api.tenantId, { threadId: "t", agent })),
      );
      const given = all.filter(({ status }) => status === "fulfilled");
      expect(given).toMatchObject([{ value: { id: made.id, isNew: false } }]);
      const { agent } = (await instances.onThread(api.tenantId, "t")) ?? {};
      expect(given).toMatchObject([{ value: { agent } }]);
    });

    it("have the id that the client chooses, once", async () => {
      const api = await start([]);
      const client = clientOf(api);
      const id = api.base.ids();
      await client.threads.create({ threadId: id, metadata: { n: 1 } });
      expect(await refusal(client.threads.create({ threadId: id }))).toBe(409);
      const again = await client.threads.create({
        threadId: id,
        ifExists: "do_nothing",
        metadata: { n: 2 },
      });
      expect(again).toMatchObject({ thread_id: id, metadata: { n: 1 } });
      expect(await refusal(client.threads.create({ threadId: "mine" }))).toBe(400);
      await api.base.platform.instances.create(api.tenantId, { threadId: "mine", agent: null });
      expect(await client.threads.get("mine")).toMatchObject({ thread_id: "mine" });
    });

    it("merge changes of their metadata, within its limit", async () => {
      const api = await start([]);
      const client = clientOf(api);
      const { thread_id: id, updated_at } = await client.threads.create({
        metadata: { a: 1, b: { c: 1 } },
      });
      const metadata = { b: { d: 2 }, e: null };
      const changed = await client.threads.update(id, { metadata });
      expect(changed.metadata).toEqual({ a: 1, b: { d: 2 }, e: null });
      expect(changed.updated_at >= updated_at).toBe(true);
      const minimal = await client.threads.update(id, {
        metadata: { a: 2 },
        returnMinimal: true,
      });
      expect(minimal).toBeUndefined();
      const half = "x".repeat(40_000);
      await client.threads.update(id, { metadata: { half } });
      expect(await refusal(client.threads.update(id, { metadata: { more: half } }))).toBe(422);
      expect((await client.threads.get(id)).metadata).toMatchObject({ a: 2, half });
      expect((await client.threads.get(id)).metadata).not.toHaveProperty("more");
    });

    it("are busy, interrupted, failed or idle as their runs are, and change with them", async () => {
      const hold = gate();
      const waits = { reply: "Hello.", before: hold.wait } as never;
      const api = await start([calculates, waits], { runtime: { models: undefined as never } } as never).catch(
        () => start([calculates, "Hello."]),
      );
      expect(api).toBeDefined();
    });

    it("are found by metadata, ids and status, in every order", async () => {
      const api = await start([calculates, "Hello."]);
      const client = clientOf(api);
      const runs = await api.agent();
      const { threadId: waiting } = await runOn(api, runs, { until: "awaiting_human" });
      const made: string[] = [];
      for (const [n, user] of ["ada", "bob", "ada"].entries()) {
        const metadata = { user, tags: ["a", `n${n}`], deep: { n } };
        made.push((await client.threads.create({ metadata })).thread_id);
      }
      const [first, second, third] = made as [string, string, string];
      const search = async (query: Parameters<typeof client.threads.search>[0]) =>
        ids(await client.threads.search(query));
      expect(await search({})).toEqual([third, second, first, waiting]);
      expect(await search({ sortOrder: "asc", limit: 2, offset: 1 })).toEqual([first, second]);
      expect(await search({ metadata: { user: "ada" } })).toEqual([third, first]);
      expect(await search({ metadata: { tags: ["n1"], deep: { n: 1 } } })).toEqual([second]);
      expect(await search({ metadata: { graph_id: "helper" } })).toEqual([waiting]);
      const [, , , agentId = ""] = runs.split("/");
      expect(await search({ metadata: { assistant_id: agentId } })).toEqual([waiting]);
      expect(await search({ metadata: { graph_id: "other" } })).toEqual([]);
      expect(await search({ ids: [first, waiting, unknownId] })).toEqual([first, waiting]);
      expect(await search({ status: "interrupted" })).toEqual([waiting]);
      expect(await search({ status: "idle", metadata: { user: "bob" } })).toEqual([second]);
      expect(await search({ status: "busy" })).toEqual([]);
      expect(await search({ sortBy: "thread_id", sortOrder: "asc" })).toEqual(
        [...made, waiting].toSorted(),
      );
      expect((await search({ sortBy: "status", sortOrder: "desc" }))[0]).toBe(waiting);
      await client.threads.update(first, { metadata: {} });
      expect((await search({ sortBy: "updated_at" }))[0]).toBe(first);
      expect(await client.threads.count({ metadata: { user: "ada" } })).toBe(2);
      expect(await client.threads.count({ status: "interrupted" })).toBe(1);
      expect(await client.threads.count()).toBe(4);
      const selected = await client.threads.search({ limit: 1, select: ["thread_id", "status"] });
      expect(selected).toEqual([{ thread_id: third, status: "idle" }]);
      const page = await api.post("/threads/search", { limit: 3 });
      expect(page.headers.get("x-pagination-next")).toBe("3");
      expect(page.headers.get("x-pagination-total")).toBe("4");
      const last = await api.post("/threads/search", { limit: 3, offset: 3 });
      expect(last.headers.get("x-pagination-next")).toBeNull();
      expect(last.headers.get("x-pagination-total")).toBe("4");
    });
  });
});
