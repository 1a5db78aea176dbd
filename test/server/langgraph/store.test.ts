import { Client } from "@langchain/langgraph-sdk";
import { describe, expect, it } from "vitest";
import { drawDatabases, useDatabase } from "../../helpers/databases.ts";
import { useRunServers } from "../../helpers/run-server.ts";

describe.each(drawDatabases(import.meta.url))("the store on %s", (kind) => {
  const database = useDatabase(kind);
  const start = useRunServers(database);

  async function serve() {
    const api = await start([], { runtime: { memoryEmbeddings: null } });
    const storeOf = (apiKey: string) =>
      new Client({
        apiUrl: `http://127.0.0.1:${api.port}`,
        apiKey,
        callerOptions: { maxRetries: 0 },
      }).store;
    return { api, storeOf, store: storeOf(api.key) };
  }
  const statusOf = (call: Promise<unknown>) =>
    call.then(
      () => 200,
      (thrown: unknown) => (thrown as { status?: number }).status,
    );

  it.skipIf(!database.available)("writes, reads, replaces and deletes items", async () => {
    const { store } = await serve();
    const namespace = ["users", "u-1"];
    expect(await store.getItem(namespace, "diet")).toBeNull();
    await store.putItem(namespace, "diet", { text: "Eats no fish.", since: { year: 2026 } });
    const item = await store.getItem(namespace, "diet");
    expect(item).toMatchObject({
      namespace,
      key: "diet",
      value: { text: "Eats no fish.", since: { year: 2026 } },
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    await store.putItem(namespace, "diet", { text: "Eats all." });
    const replaced = await store.getItem(namespace, "diet");
    expect([replaced?.value, replaced?.createdAt]).toEqual([
      { text: "Eats all." },
      item?.createdAt,
    ]);
    await store.deleteItem(namespace, "diet");
    await store.deleteItem(namespace, "diet");
    expect(await store.getItem(namespace, "diet")).toBeNull();
  });

  it.skipIf(!database.available)("searches by prefix, filter and text, in parts", async () => {
    const { store } = await serve();
    await store.putItem(["users", "u-1"], "a", { text: "Ada eats no fish", rank: 1 });
    await store.putItem(["users", "u-2"], "b", { text: "Bo sails on Sunday", rank: 2 });
    await store.putItem(["docs"], "c", { text: "An invoice", rank: 3 });
    const keys = async (...search: Parameters<typeof store.searchItems>) =>
      (await store.searchItems(...search)).items.map(({ key }) => key);
    expect(await keys(["users"])).toEqual(["a", "b"]);
    expect(await keys([])).toEqual(["a", "b", "c"]);
    expect(await keys(["users"], { limit: 1, offset: 1 })).toEqual(["b"]);
    expect(await keys([], { filter: { rank: 3 } })).toEqual(["c"]);
    expect(await keys([], { filter: { rank: { $gte: 2 } } })).toEqual(["b", "c"]);
    expect(await keys(["user"])).toEqual([]);
    const { items } = await store.searchItems(["users"], { query: "who eats fish", limit: 1 });
    expect(items).toMatchObject([{ key: "a", score: expect.any(Number) }]);
  });

  it.skipIf(!database.available)(
    "leaves items out of searches by text that are not indexed",
    async () => {
      const { store } = await serve();
      const value = { title: "Fish", body: "Invoice" };
      await store.putItem(["docs"], "none", value, { index: false });
      await store.putItem(["docs"], "body", value, { index: ["body"] });
      const scored = async (query: string) =>
        (await store.searchItems(["docs"], { query })).items
          .filter(({ score }) => score !== undefined)
          .map(({ key }) => key);
      expect(await scored("invoice")).toEqual(["body"]);
      expect(await scored("fish")).toEqual([]);
    },
  );

  it.skipIf(!database.available)("lists namespaces by prefix, suffix and depth", async () => {
    const { store } = await serve();
    for (const namespace of [["users", "u-1", "notes"], ["users", "u-2", "notes"], ["docs"]])
      await store.putItem(namespace, "k", { text: "x" });
    const list = async (options?: Parameters<typeof store.listNamespaces>[0]) =>
      (await store.listNamespaces(options)).namespaces.map((labels) => labels.join("/"));
    expect(await list()).toEqual(["docs", "users/u-1/notes", "users/u-2/notes"]);
    expect(await list({ prefix: ["users"], maxDepth: 1 })).toEqual(["users"]);
    expect(await list({ suffix: ["notes"], limit: 1, offset: 1 })).toEqual(["users/u-2/notes"]);
    expect(await list({ prefix: ["users", "*", "notes"] })).toHaveLength(2);
  });

  it.skipIf(!database.available)(
    "refuses what it cannot store, with LangGraph's statuses",
    async () => {
      const { api, store } = await serve();
      const put = async (body: object) => {
        const { status, json } = await api.send("PUT", "/store/items", { body });
        return [status, (json["errors"] as { pointer: string }[])[0]?.pointer];
      };
      const value = { text: "x" };
      const ok = { namespace: ["docs"], key: "k", value };
      expect(await put({ ...ok, namespace: [] })).toEqual([400, "/namespace"]);
      expect(await put({ ...ok, namespace: "docs" })).toEqual([400, "/namespace"]);
      expect(await put({ ...ok, value: "text" })).toEqual([400, "/value"]);
      for (const label of ["", "a.b", "a:b", "\0", "\ud800", "x".repeat(201)])
        expect(await put({ ...ok, namespace: ["docs", label] })).toEqual([422, "/namespace/1"]);
      expect(await put({ ...ok, namespace: Array(11).fill("a") })).toEqual([422, "/namespace"]);
      expect(await put({ ...ok, namespace: ["langgraph"] })).toEqual([422, "/namespace/0"]);
      for (const key of ["", "\0", "\udc00", "k".repeat(256)])
        expect(await put({ ...ok, key })).toEqual([422, "/key"]);
      expect(await put({ ...ok, ttl: 5 })).toEqual([422, "/ttl"]);
      const large = { ...ok, value: { text: "x".repeat(262_144) } };
      expect((await api.send("PUT", "/store/items", { body: large })).status).toBe(422);
      expect(await store.listNamespaces()).toEqual({ namespaces: [] });

      const get = async (query: string) => (await api.send("GET", `/store/items?${query}`)).status;
      expect(await get("namespace=docs")).toBe(400);
      expect(await get("key=k")).toBe(400);
      expect(await get("namespace=&key=k")).toBe(422);
      expect(await get("namespace=a..b&key=k")).toBe(422);
      expect(await get("namespace=docs&key=%00")).toBe(422);
      expect(await statusOf(store.searchItems([""]))).toBe(422);
      expect(await statusOf(store.listNamespaces({ prefix: [] }))).toBe(400);
      expect(await statusOf(store.listNamespaces({ suffix: ["a.b"] }))).toBe(422);
      const body = { namespace: [], key: "k" };
      expect((await api.send("DELETE", "/store/items", { body })).status).toBe(400);
      expect((await api.send("DELETE", "/store/items", { body: { key: "k" } })).status).toBe(400);
      expect(await statusOf(store.searchItems([], { offset: 10_001 }))).toBe(400);
      expect(await statusOf(store.searchItems([], { limit: 1001 }))).toBe(400);
    },
  );

  it.skipIf(!database.available)("is the store of one tenant", async () => {
    const { api, storeOf, store } = await serve();
    const other = storeOf((await api.join()).key);
    await store.putItem(["users", "u-1"], "diet", { text: "Eats no fish." });
    expect(await other.getItem(["users", "u-1"], "diet")).toBeNull();
    expect(await other.searchItems([], { query: "fish" })).toEqual({ items: [] });
    expect(await other.listNamespaces()).toEqual({ namespaces: [] });
    await other.putItem(["users", "u-1"], "diet", { text: "Mine." });
    await other.deleteItem(["users", "u-1"], "diet");
    expect(await store.getItem(["users", "u-1"], "diet")).toMatchObject({
      value: { text: "Eats no fish." },
    });
  });

  it.skipIf(!database.available)("has the memories of agents under their names", async () => {
    const { api, store } = await serve();
    const path = (await api.agent({ name: "helper" })).replace(/runs$/, "memory");
    await api.post(path, { content: "Ada prefers short answers.", user: "u-1" });
    const { items } = await store.searchItems(["agents", "helper"], { query: "short answers" });
    expect(items).toMatchObject([
      {
        namespace: ["agents", "helper", "users", "u-1"],
        value: { content: "Ada prefers short answers.", memory_type: "semantic" },
      },
    ]);
    const [found] = items;
    await store.deleteItem(found?.namespace ?? [], found?.key ?? "");
    expect((await api.send("GET", path)).json).toMatchObject({ entries: [] });
    const { items: audited } = await api.base.platform.audit.list(api.tenantId);
    expect(audited.map(({ action }) => action)).toContain("memory.delete");
  });

  it.skipIf(!database.available)("needs the scopes of memory", async () => {
    const { api, storeOf } = await serve();
    const { key } = await api.join(["memory:read"], api.tenantId);
    const reader = storeOf(key);
    expect(await statusOf(reader.searchItems([]))).toBe(200);
    expect(await statusOf(reader.getItem(["a"], "b"))).toBe(200);
    expect(await statusOf(reader.putItem(["a"], "b", { text: "x" }))).toBe(403);
    expect(await statusOf(reader.deleteItem(["a"], "b"))).toBe(403);
    const { key: writer } = await api.join(["memory:write"], api.tenantId);
    expect(await statusOf(storeOf(writer).searchItems([]))).toBe(403);
    expect(await statusOf(storeOf(writer).getItem(["a"], "b"))).toBe(403);
    expect(await statusOf(storeOf(writer).listNamespaces())).toBe(403);
  });
});
