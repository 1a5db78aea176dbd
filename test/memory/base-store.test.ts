import {
  InMemoryStore,
  InvalidNamespaceError,
  type BaseStore,
} from "@langchain/langgraph-checkpoint";
import { describe, expect, it } from "vitest";
import { systemIds } from "../../src/clock.ts";
import { MemoryBaseStore } from "../../src/memory/base-store.ts";
import { createMemory } from "../../src/memory/create-memory.ts";
import { InvalidMemoryError } from "../../src/memory/errors.ts";
import {
  type DatabaseMemory,
  openDatabaseMemory,
} from "../../src/storage/memory/database-memory.ts";
import { createInMemoryMemory } from "../../src/memory/in-memory-store.ts";
import type { Memory } from "../../src/memory/memory.ts";
import { defaultTenant, type MemoryStore } from "../../src/memory/store.ts";
import { newTenant } from "../contract/memory-store.ts";
import { changedStore } from "../helpers/changed-store.ts";
import { useDatabase } from "../helpers/databases.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { oddEmbeddings } from "../helpers/odd-embeddings.ts";

const memoryOver = (store: MemoryStore, clock = new ManualClock()): Memory =>
  createMemory({ store, clock, embeddings: null });
const newMemory = (clock = new ManualClock()): Memory =>
  memoryOver(createInMemoryMemory({ clock, ids: systemIds }).forTenant(defaultTenant), clock);

const database = useDatabase("pglite");

const sharedClock = new ManualClock();
let shared: DatabaseMemory | undefined;
/** One for all tests: what opens the tables costs more than most of them. */
const onPGlite = () => (shared ??= openDatabaseMemory(database.shared, { clock: sharedClock }));

const stores: readonly (readonly [string, () => Promise<BaseStore>])[] = [
  ["LangGraph's InMemoryStore", async () => new InMemoryStore()],
  ["memories in memory", async () => new MemoryBaseStore(newMemory())],
  [
    "memories on PGlite",
    async () => new MemoryBaseStore(memoryOver(onPGlite().forTenant(newTenant()), sharedClock)),
  ],
];

const keysOf = (items: readonly { readonly key: string }[]) => items.map(({ key }) => key);

/** A store that tests only read, filled by the first of them. */
function filledOnce(
  open: () => Promise<BaseStore>,
  fill: (store: BaseStore) => Promise<void>,
): () => Promise<BaseStore> {
  let filled: Promise<BaseStore> | undefined;
  const make = async () => {
    const store = await open();
    await fill(store);
    return store;
  };
  return () => (filled ??= make());
}

describe.each(stores)("a store: %s", (_, open) => {
  const people = filledOnce(open, async (store) => {
    await store.put(["n"], "a", { age: 20, city: "Oslo", none: null });
    await store.put(["n"], "b", { age: 30, city: "Bern", tags: ["x"] });
    await store.put(["n"], "c", { age: 40, city: "Rome" });
    await store.put(["n"], "d", { city: "Rome" });
  });
  const nested = filledOnce(open, async (store) => {
    for (const namespace of ["e/b/c", "a/b/d", "a", "a/x/c", "a/b/c"]) {
      await store.put(namespace.split("/"), "k", { n: 1 });
    }
  });

  it("gives an item as it was put, with its times", async () => {
    const store = await open();
    const value = {
      name: "Ada",
      likes: ["tea", { much: true }],
      none: null,
      deep: { a: [1, 2.5] },
    };
    await store.put(["users", "u-1"], "profile", value);
    const item = await store.get(["users", "u-1"], "profile");
    expect(item).toMatchObject({ namespace: ["users", "u-1"], key: "profile", value });
    expect(item?.createdAt).toBeInstanceOf(Date);
    expect(item?.updatedAt).toBeInstanceOf(Date);
    expect(await store.get(["users", "u-1"], "other")).toBeNull();
    expect(await store.get(["users"], "profile")).toBeNull();
  });

  it("replaces an item where it stands, and deletes it", async () => {
    const store = await open();
    for (const key of ["a", "b", "c"]) await store.put(["n"], key, { key });
    await store.put(["n"], "a", { key: "new" });
    expect((await store.search(["n"])).map(({ value }) => value)).toEqual([
      { key: "new" },
      { key: "b" },
      { key: "c" },
    ]);
    await store.delete(["n"], "b");
    await store.delete(["n"], "unknown");
    expect(keysOf(await store.search(["n"]))).toEqual(["a", "c"]);
    await store.put(["n"], "b", { key: "b" });
    expect(keysOf(await store.search(["n"]))).toEqual(["a", "c", "b"]);
  });

  it("finds items under a prefix of whole labels", async () => {
    const store = await open();
    await store.put(["tenants", "1"], "one", { n: 1 });
    await store.put(["tenants", "1", "deep"], "below", { n: 1 });
    await store.put(["tenants", "10"], "ten", { n: 10 });
    expect(keysOf(await store.search(["tenants", "1"]))).toEqual(["one", "below"]);
    expect(keysOf(await store.search(["tenants"]))).toEqual(["one", "below", "ten"]);
    expect(keysOf(await store.search([]))).toEqual(["one", "below", "ten"]);
    expect(await store.search(["tenant"])).toEqual([]);
  });

  it("pages items, ten at a time by default", async () => {
    const store = await open();
    const keys = Array.from({ length: 12 }, (_one, at) => `k${at}`);
    for (const key of keys) await store.put(["n"], key, { key });
    expect(keysOf(await store.search(["n"]))).toEqual(keys.slice(0, 10));
    expect(keysOf(await store.search(["n"], { offset: 20 }))).toEqual(keys.slice(20));
    expect(keysOf(await store.search(["n"], { limit: 3, offset: 4 }))).toEqual(keys.slice(4, 7));
    expect(await store.search(["n"], { limit: 0 })).toEqual([]);
    expect(keysOf(await store.search(["n"], { limit: 1_000 }))).toEqual(keys);
  });

  it.each<[object, string]>([
    [{}, "abcd"],
    [{ age: 30 }, "b"],
    [{ age: 30, city: "Rome" }, ""],
    [{ city: "Rome" }, "cd"],
    [{ age: { $eq: 30 } }, "b"],
    [{ age: { $ne: 30 } }, "acd"],
    [{ age: { $gt: 20 } }, "bc"],
    [{ age: { $gte: 20 } }, "abc"],
    [{ age: { $lt: 40 } }, "ab"],
    [{ age: { $lte: 40 } }, "abc"],
    [{ age: { $gt: 20, $lt: 40 } }, "b"],
    [{ age: { $gt: "20" } }, "bc"],
    [{ city: { $in: ["Rome", "Oslo"] } }, "acd"],
    [{ city: { $in: "Rome" } }, ""],
    [{ city: { $nin: ["Rome"] } }, "ab"],
    [{ city: { $nin: "Rome" } }, "abcd"],
    [{ age: { $gt: 20 }, city: { $ne: "Rome" } }, "b"],
    [{ age: {} }, "abcd"],
    [{ age: { $much: 1 } }, ""],
    [{ tags: ["x"] }, ""],
    [{ none: null }, "a"],
    [{ unknown: undefined }, "abcd"],
  ])("filters by %j", async (filter, expected) => {
    const store = await people();
    expect(keysOf(await store.search(["n"], { filter })).join("")).toBe(expected);
  });

  it("applies the limit after the filter", async () => {
    const store = await open();
    for (let at = 0; at < 12; at += 1) await store.put(["n"], `k${at}`, { even: at % 2 === 0 });
    const filter = { even: true };
    expect(keysOf(await store.search(["n"], { filter, limit: 3, offset: 2 }))).toEqual([
      "k4",
      "k6",
      "k8",
    ]);
  });

  it.each<[Parameters<BaseStore["listNamespaces"]>[0], string[]]>([
    [{}, ["a", "a/b/c", "a/b/d", "a/x/c", "e/b/c"]],
    [{ prefix: ["a"] }, ["a", "a/b/c", "a/b/d", "a/x/c"]],
    [{ prefix: ["a", "b"] }, ["a/b/c", "a/b/d"]],
    [{ prefix: ["*", "b"] }, ["a/b/c", "a/b/d", "e/b/c"]],
    [{ prefix: ["a", "*", "c"] }, ["a/b/c", "a/x/c"]],
    [{ suffix: ["c"] }, ["a/b/c", "a/x/c", "e/b/c"]],
    [{ suffix: ["b", "*"] }, ["a/b/c", "a/b/d", "e/b/c"]],
    [{ prefix: ["a"], suffix: ["c"] }, ["a/b/c", "a/x/c"]],
    [{ maxDepth: 1 }, ["a", "e"]],
    [{ maxDepth: 2 }, ["a", "a/b", "a/x", "e/b"]],
    [{ prefix: ["a"], maxDepth: 2, limit: 2 }, ["a", "a/b"]],
    [{ limit: 2, offset: 1 }, ["a/b/c", "a/b/d"]],
    [{ prefix: ["unknown"] }, []],
  ])("lists namespaces of %j", async (options, expected) => {
    const store = await nested();
    const found = await store.listNamespaces(options);
    expect(found.map((namespace) => namespace.join("/"))).toEqual(expected);
  });

  it("runs the reads of a batch before its writes, and the last write to an item", async () => {
    const store = await open();
    await store.put(["n"], "old", { n: 1 });
    const results = await store.batch([
      { namespace: ["n"], key: "new", value: { n: 1 } },
      { namespace: ["n"], key: "new", value: { n: 2 } },
      { namespace: ["n"], key: "old", value: null },
      { namespace: ["n"], key: "new" },
      { namespacePrefix: ["n"] },
      { matchConditions: [{ matchType: "prefix", path: ["n"] }], limit: 10, offset: 0 },
    ]);
    expect(results.slice(0, 4)).toEqual([null, null, null, null]);
    expect(keysOf((results as unknown[])[4] as { key: string }[])).toEqual(["old"]);
    expect(results[5]).toEqual([["n"]]);
    expect((await store.get(["n"], "new"))?.value).toEqual({ n: 2 });
    expect(await store.get(["n"], "old")).toBeNull();
  });

  it.each([[[]], [["a.b"]], [["a:b"]], [["a\0"]], [["a", ""]], [["langgraph"]], [[1 as never]]])(
    "refuses to put into %j",
    async (namespace) => {
      const store = await open();
      await expect(store.put(namespace, "k", { n: 1 })).rejects.toThrow(InvalidNamespaceError);
    },
  );

  it("refuses bad namespaces of reads, too", async () => {
    const store = await open();
    const bad = ["a.b"];
    await expect(store.get(bad, "k")).rejects.toThrow(InvalidNamespaceError);
    await expect(store.get([], "k")).rejects.toThrow(InvalidNamespaceError);
    await expect(store.search(bad)).rejects.toThrow(InvalidNamespaceError);
    await expect(store.delete(bad, "k")).rejects.toThrow(InvalidNamespaceError);
    await expect(store.listNamespaces({ prefix: bad })).rejects.toThrow(InvalidNamespaceError);
    await expect(store.batch([{ namespace: bad, key: "k" }])).rejects.toThrow(
      InvalidNamespaceError,
    );
  });
});

describe("the memories of a tenant as a store", () => {
  it("ranks what a query finds, before the other items", async () => {
    const store = new MemoryBaseStore(newMemory());
    await store.put(["n"], "car", { text: "Drives a red car" });
    await store.put(["n"], "fish", { text: "Never eats fish or meat" });
    await store.put(["n"], "meat", { text: "Eats meat on Sundays" });
    const found = await store.search(["n"], { query: "fish and meat" });
    expect(keysOf(found)).toEqual(["fish", "meat", "car"]);
    expect(found.map(({ score }) => typeof score)).toEqual(["number", "number", "undefined"]);
    expect(found[0]?.score).toBeGreaterThan(found[1]?.score ?? 1);
    expect(keysOf(await store.search(["n"], { query: "fish and meat", limit: 1 }))).toEqual([
      "fish",
    ]);
    const second = await store.search(["n"], { query: "fish and meat", limit: 2, offset: 1 });
    expect(keysOf(second)).toEqual(["meat", "car"]);
    const filtered = {
      query: "fish and meat",
      filter: { text: { $ne: "Never eats fish or meat" } },
    };
    expect(keysOf(await store.search(["n"], filtered))).toEqual(["meat", "car"]);
  });

  it("ranks what a query finds in all namespaces", async () => {
    const store = new MemoryBaseStore(newMemory());
    await store.put(["a"], "car", { text: "Drives a red car" });
    await store.put(["b", "c"], "fish", { text: "Never eats fish or meat" });
    const found = await store.search([], { query: "fish and meat", limit: 1 });
    expect(keysOf(found)).toEqual(["fish"]);
  });

  it("finds items by the paths of their index alone", async () => {
    const store = new MemoryBaseStore(newMemory());
    const value = { title: "Boats", secret: "yacht" };
    await store.put(["n"], "title", value, ["title"]);
    await store.put(["n"], "none", value, false);
    const scored = async (query: string) =>
      keysOf((await store.search(["n"], { query })).filter(({ score }) => score !== undefined));
    expect(await scored("yacht")).toEqual([]);
    expect(await scored("boats")).toEqual(["title"]);
    await store.put(["n"], "all", value);
    expect((await scored("yacht"))[0]).toBe("all");
    expect((await store.get(["n"], "none"))?.value).toEqual(value);
  });

  it("sends no text of an item that is not indexed to the embeddings", async () => {
    const clock = new ManualClock();
    const store = createInMemoryMemory({ clock, ids: systemIds }).forTenant(defaultTenant);
    const embeddings = oddEmbeddings();
    const view = new MemoryBaseStore(createMemory({ store, clock, embeddings }));
    await view.put(["n"], "none", { text: "secret" }, false);
    await view.put(["n"], "text", { text: "open", n: 1 }, ["text"]);
    expect(embeddings.calls).toEqual([["open"]]);
  });

  it("shows what agents remember, and what graphs put next to it as it was put", async () => {
    const memory = newMemory();
    const namespace = ["agents", "support"];
    await memory.add([{ namespace, key: "fact", content: "Ada pays in euros", importance: 0.8 }]);
    const store = new MemoryBaseStore(memory);
    await store.put(namespace, "note", { content: "mine" });
    const [fact, note] = await store.search(["agents"]);
    expect(fact?.value).toMatchObject({
      content: "Ada pays in euros",
      memory_type: "semantic",
      importance: 0.8,
      source: "system",
      tags: [],
    });
    expect(note?.value).toEqual({ content: "mine" });
    await store.delete(namespace, "fact");
    expect(await memory.store.count({ namespace })).toBe(1);
  });

  it("copies values as plain JSON, and never changes them with their copy", async () => {
    const store = new MemoryBaseStore(newMemory());
    const value = { at: new Date(0), gone: undefined, list: [1] };
    await store.put(["n"], "k", value);
    value.list.push(2);
    const item = await store.get(["n"], "k");
    expect(item?.value).toEqual({ at: "1970-01-01T00:00:00.000Z", list: [1] });
    (item?.value["list"] as number[] | undefined)?.push(3);
    expect((await store.get(["n"], "k"))?.value).toMatchObject({ list: [1] });
    const lc = { lc: 1, type: "constructor", id: ["langchain", "messages"], kwargs: {} };
    await store.put(["n"], "lc", lc);
    expect((await store.get(["n"], "lc"))?.value).toEqual(lc);
  });

  it.each<[string, unknown]>([
    ["a list", [1]],
    ["a text", "text"],
    ["too much", { text: "x".repeat(262_145) }],
  ])("refuses %s as a value, and writes nothing of its batch", async (_, value) => {
    const store = new MemoryBaseStore(newMemory());
    const batch = store.batch([
      { namespace: ["n"], key: "fine", value: { n: 1 } },
      { namespace: ["n"], key: "odd", value: value as Record<string, unknown> },
    ]);
    await expect(batch).rejects.toThrow(InvalidMemoryError);
    expect(await store.search(["n"])).toEqual([]);
  });

  it.each([
    ["a namespace of 11 labels", Array<string>(11).fill("n"), "k", { n: 2 }],
    ["to remove from a namespace of 11 labels", Array<string>(11).fill("n"), "k", null],
    ["a key of 256 characters", ["n"], "k".repeat(256), { n: 2 }],
  ])("refuses %s, and writes nothing of its batch", async (_, namespace, key, value) => {
    const store = new MemoryBaseStore(newMemory());
    const batch = store.batch([
      { namespace: ["n"], key: "fine", value: { n: 1 } },
      { namespace, key, value },
    ]);
    await expect(batch).rejects.toThrow(InvalidMemoryError);
    expect(await store.search(["n"])).toEqual([]);
    await store.delete(["n"], "k".repeat(256));
  });

  it("reads no prototype by a filter or a path", async () => {
    const store = new MemoryBaseStore(newMemory());
    await store.put(["n"], "k", { text: "plain" }, ["constructor.name", "__proto__"]);
    expect(await store.search(["n"], { filter: { constructor: Object } })).toEqual([]);
    expect(await store.search(["n"], { filter: { toString: { $ne: undefined } } })).toEqual([]);
    const [item] = await store.search(["n"], { query: "Object" });
    expect(item?.score).toBeUndefined();
  });

  it("continues a listing after the entry at its position is removed", async () => {
    const { store, ...rest } = newMemory();
    let removed = 0;
    const listed = changedStore(store, {
      list: async (filter, page = {}) => {
        const isGone = page.after !== undefined && !(await store.get([page.after]))[0];
        if (isGone) throw new InvalidMemoryError("page", ["the entry is gone"]);
        const entries = await store.list(filter, page);
        const last = entries.at(-1);
        if (last && removed === 0 && entries.length === 100) {
          removed = (await store.forget({ ids: [last.id] })).entries;
        }
        return entries;
      },
    });
    const view = new MemoryBaseStore({ ...rest, store: listed });
    for (let at = 0; at < 150; at += 1) await view.put(["n"], `k${at}`, { at });
    const found = keysOf(await view.search(["n"], { limit: 200 }));
    expect(found).toEqual(Array.from({ length: 150 }, (_, at) => `k${at}`));
    expect(removed).toBe(1);
  });

  it("opens the memory with the first operation", async () => {
    let opened = 0;
    const memory = newMemory();
    const store = new MemoryBaseStore(async () => {
      opened += 1;
      return memory;
    });
    await expect(store.put(["a.b"], "k", {})).rejects.toThrow(InvalidNamespaceError);
    expect(opened).toBe(0);
    await store.put(["n"], "k", {});
    expect(opened).toBe(1);
  });
});
