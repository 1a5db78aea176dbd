import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { NewMemoryEntry } from "../../src/memory/entry.ts";
import {
  InvalidMemoryError,
  MemoryBusyError,
  MemoryDimensionError,
} from "../../src/memory/errors.ts";
import type { MemoryDatabase, MemoryStore } from "../../src/memory/store.ts";
import { ManualClock } from "../helpers/manual-clock.ts";

/** What opens the memories that a suite tests; it is called once, before the tests. */
export interface MemoryStoreSubject {
  /** In the title. */
  readonly name: string;
  /** False: the tests are skipped. */
  readonly available?: boolean;
  /** Whether no other process uses the server of the database. */
  readonly isAlone: boolean;
  /** Whether vectors are searched by an index. */
  readonly hasVectorIndex: boolean;
  open(of: { clock: ManualClock; ids: () => string }): Promise<MemoryDatabase>;
}

const namespace = ["agents", "support"];

/** A unit vector of so many dimensions that points near an axis. */
export function vectorAt(axis: number, dimensions = 4, lean = 0): Float32Array {
  const vector = new Float32Array(dimensions);
  vector[axis] = 1;
  vector[(axis + 1) % dimensions] = lean;
  const length = Math.hypot(...vector);
  return vector.map((part) => part / length);
}

/** A tenant of one test. */
let tenants = 0;
export function newTenant(): string {
  tenants += 1;
  return `00000000-0000-7000-8000-${(tenants + process.pid * 65_536).toString(16).padStart(12, "0")}`;
}

/** Ids in the order of their making. */
function countingIds(): () => string {
  let count = 0;
  return () => `01900000-0000-7000-8000-${(++count).toString(16).padStart(12, "0")}`;
}

/** What a store of memories does, whatever it keeps them in. */
export function memoryStoreContract(subject: MemoryStoreSubject): void {
  describe.skipIf(subject.available === false)(`memories ${subject.name}`, () => {
    const clock = new ManualClock();
    let memories: MemoryDatabase;
    let store: MemoryStore;

    beforeAll(async () => {
      memories = await subject.open({ clock, ids: countingIds() });
    });
    beforeEach(() => {
      clock.advance(1_000);
      store = memories.forTenant(newTenant());
    });

    const addOne = async (over: Partial<NewMemoryEntry> = {}): Promise<string> => {
      const [stored] = await store.add([{ namespace, content: "The sky is blue.", ...over }]);
      return stored!.id;
    };
    const contents = async (filter: Parameters<MemoryStore["list"]>[0], page = {}) =>
      (await store.list(filter, page)).map(({ content }) => content);
    const only = async (id: string) => (await store.get([id]))[0]!;

    test("store an entry with its defaults", async () => {
      const now = clock.now().toISOString();
      const id = await addOne();
      expect(await store.get([id])).toEqual([
        {
          id,
          tenant_id: store.tenantId,
          namespace,
          key: id,
          instance_id: null,
          thread_id: null,
          memory_type: "semantic",
          content: "The sky is blue.",
          summary: null,
          embedding_model: null,
          importance: 0.5,
          access_count: 0,
          last_accessed: null,
          last_score: null,
          metadata: { source: "system", turn_id: null, tags: [], entities: [] },
          value: null,
          created_at: now,
          updated_at: now,
          expires_at: null,
        },
      ]);
    });

    test("give back every part of an entry as it was given", async () => {
      const entry = {
        id: "01900000-0000-7000-8000-aaaaaaaaaaaa",
        namespace: ["agents", "Ü ö/'\"\\%_", "users", "u-1"],
        key: "fact'); drop table memory_entry; --",
        instance_id: "instance-1",
        thread_id: "thread-1",
        memory_type: "procedural",
        content: "It's 100% \\ “quoted” 😀\n$1 {schema}",
        summary: "short",
        importance: 0.1,
        metadata: {
          source: "user",
          turn_id: "run-1",
          tags: ["a", "b,c", "{d}"],
          entities: ["Ada", "2026-01-01"],
          speaker: "Ada",
          merged: ["01900000-0000-7000-8000-bbbbbbbbbbbb"],
          data: { nul: "\0", lone: "\ud800", deep: [{ a: null }, 1.5e300, -1, true] },
        },
        value: { b: 1, a: "\u0000x" },
        created_at: "2025-12-31T23:59:59.999+01:00",
        expires_at: "2030-01-01T00:00:00Z",
        embedding: { model: "m", vector: vectorAt(1) },
      } satisfies NewMemoryEntry;
      expect(await store.add([entry])).toEqual([{ id: entry.id, isNew: true }]);
      const { embedding, ...rest } = entry;
      expect(await only(entry.id)).toEqual({
        ...rest,
        tenant_id: store.tenantId,
        embedding_model: embedding.model,
        access_count: 0,
        last_accessed: null,
        last_score: null,
        created_at: "2025-12-31T22:59:59.999Z",
        updated_at: clock.now().toISOString(),
        expires_at: "2030-01-01T00:00:00.000Z",
      });
      expect(Object.keys((await only(entry.id)).value!)).toEqual(["b", "a"]);
    });

    test("store an entry once for its key", async () => {
      const [first, again] = await store.add([
        { namespace, key: "k", content: "first" },
        { namespace, key: "k", content: "second" },
      ]);
      expect([first!.isNew, again!.isNew]).toEqual([true, false]);
      expect(again!.id).toBe(first!.id);
      const [third, other] = await store.add([
        { namespace, key: "k", content: "third" },
        { namespace: [...namespace, "users"], key: "k", content: "elsewhere" },
      ]);
      expect(third).toEqual({ id: first!.id, isNew: false });
      expect(other!.isNew).toBe(true);
      expect(await contents({})).toEqual(["elsewhere", "first"]);
    });

    test("store a key once when several add it at the same time", async () => {
      const all = await Promise.all(
        Array.from({ length: 5 }, (_, index) =>
          store.add([
            { namespace, key: `b${index % 2}`, content: "b" },
            { namespace, key: "a", content: "a" },
          ]),
        ),
      );
      const stored = all.flat();
      expect(stored.filter(({ isNew }) => isNew)).toHaveLength(3);
      expect(new Set(stored.map(({ id }) => id)).size).toBe(3);
      expect(await store.count({})).toBe(3);
    });

    test("refuse the id of another entry, and write nothing then", async () => {
      const id = await addOne();
      await expect(
        store.add([
          { namespace, content: "new" },
          { namespace, id, key: "other", content: "new" },
        ]),
      ).rejects.toThrow(InvalidMemoryError);
      await expect(store.put({ namespace, id, key: "other", content: "new" })).rejects.toThrow(id);
      expect(await store.count({})).toBe(1);
    });

    test("return entries that their callers cannot change, and keep copies of what they got", async () => {
      const given = { namespace: [...namespace], content: "x", metadata: { data: { list: [1] } } };
      const [stored] = await store.add([given]);
      const { id } = stored!;
      given.namespace.push("more");
      given.metadata.data.list.push(2);
      const entry = await only(id);
      try {
        (entry.metadata.tags as string[]).push("mine");
        (entry.metadata.data!["list"] as number[]).push(3);
      } catch {
        // Frozen.
      }
      expect(await only(id)).toMatchObject({
        namespace,
        metadata: { tags: [], data: { list: [1] } },
      });
    });

    test("tell whether vectors are searched by an index", async () => {
      expect(await store.hasVectorIndex()).toBe(subject.hasVectorIndex);
    });

    test("replace the entry of a key, and keep what counts its uses", async () => {
      const first = { namespace, key: "k", content: "old", importance: 0.9, thread_id: "t" };
      const { id } = await store.put({ ...first, embedding: { model: "m", vector: vectorAt(0) } });
      await store.recordUses([{ id, run: "r", threadId: "t", score: 0.5 }]);
      const before = await only(id);
      clock.advance(1);
      const value = { a: 1 };
      const again = {
        namespace,
        key: "k",
        content: "new",
        value,
        memory_type: "episodic",
      } as const;
      expect(await store.put(again)).toEqual({ id });
      expect(await only(id)).toEqual({
        ...before,
        content: "new",
        value,
        memory_type: "episodic",
        embedding_model: null,
        updated_at: clock.now().toISOString(),
      });
      expect(await store.nearest({}, { model: "m", vector: vectorAt(0) }, 5)).toEqual([]);
    });

    test("select by each part of a filter", async () => {
      const add = (content: string, over: Partial<NewMemoryEntry> = {}) =>
        addOne({ content, key: content, ...over });
      const a = await add("a", { created_at: "2025-01-01T00:00:00Z", thread_id: "t1" });
      await add("b", {
        created_at: "2025-01-02T00:00:00Z",
        instance_id: "i",
        memory_type: "episodic",
      });
      await add("c", {
        namespace: ["agents", "support-2"],
        metadata: { source: "user", tags: ["x", "y"] },
      });
      await add("d", { namespace: [...namespace, "users", "u"], metadata: { tags: ["x"] } });
      await add("e", { namespace: ["agents"] });
      expect(await contents({ namespace })).toEqual(["d", "b", "a"]);
      expect(await contents({ namespace, exact: true })).toEqual(["b", "a"]);
      expect(await contents({ namespace: ["agent"] })).toEqual([]);
      expect(await contents({ namespace: [], exact: true })).toEqual([]);
      expect(await contents({ threadId: "t1", exact: true })).toEqual(["a"]);
      expect(await contents({ namespace, exact: true, keys: ["a", "d"] })).toEqual(["a"]);
      expect(await store.count({ namespace: [] })).toBe(5);
      expect(await contents({ ids: [a, a, "no id"] })).toEqual(["a"]);
      expect(await contents({ keys: ["b", "e", "nothing"] })).toEqual(["e", "b"]);
      expect(await contents({ types: ["episodic", "procedural"] })).toEqual(["b"]);
      expect(await contents({ threadId: "t1" })).toEqual(["a"]);
      expect(await contents({ instanceId: "i" })).toEqual(["b"]);
      expect(await contents({ source: "user" })).toEqual(["c"]);
      expect(await contents({ tags: ["x"] })).toEqual(["d", "c"]);
      expect(await contents({ tags: ["x", "y"] })).toEqual(["c"]);
      expect(
        await contents({ since: "2025-01-01T01:00:00+01:00", until: "2025-01-02T00:00:00Z" }),
      ).toEqual(["a"]);
      expect(await store.count({ until: "2025-01-03T00:00:00Z" })).toBe(2);
      expect(await store.namespaces(["agents"])).toEqual([
        ["agents"],
        namespace,
        [...namespace, "users", "u"],
        ["agents", "support-2"],
      ]);
    });

    test("select by namespaces longer than an index holds", async () => {
      const long = Array.from({ length: 9 }, (_, at) => `${at}`.repeat(60) + "ü".repeat(140));
      await addOne({ namespace: [...long, "a"], content: "a" });
      await addOne({ namespace: [...long, "b"], content: "b" });
      expect(await contents({ namespace: long })).toEqual(["b", "a"]);
      expect(await contents({ namespace: [...long, "a"] })).toEqual(["a"]);
      expect(await contents({ namespace: long.slice(0, 1) })).toEqual(["b", "a"]);
    });

    test("list in pages, in each order", async () => {
      const ids: string[] = [];
      for (const content of ["a", "b", "c", "d"]) {
        ids.push(await addOne({ content, created_at: "2025-01-01T00:00:00Z" }));
      }
      for (const at of [2, 0]) {
        clock.advance(1);
        await store.recordUses([{ id: ids[at]!, run: "r", threadId: null, score: 1 }]);
      }
      expect(await contents({}, { order: "newest", limit: 3 })).toEqual(["d", "c", "b"]);
      expect(await contents({}, { order: "newest", limit: 3, after: ids[1] })).toEqual(["a"]);
      expect(await contents({}, { order: "oldest", limit: 2 })).toEqual(["a", "b"]);
      expect(await contents({}, { order: "oldest", after: ids[1] })).toEqual(["c", "d"]);
      expect(await contents({}, { order: "accessed" })).toEqual(["a", "c", "d", "b"]);
      expect(await contents({}, { order: "accessed", after: ids[2] })).toEqual(["d", "b"]);
      await store.forget({ ids: [ids[1]!] });
      await expect(store.list({}, { after: ids[1]! })).rejects.toThrow("list again");
    });

    test("never return an entry after its expiry, and remove it", async () => {
      const expires_at = new Date(clock.now().getTime() + 1_000).toISOString();
      const embedding = { model: "m", vector: vectorAt(0) };
      const id = await addOne({ key: "k", expires_at, embedding });
      await addOne({ content: "stays" });
      expect(await store.count({})).toBe(2);
      clock.advance(1_000);
      expect(await store.get([id])).toEqual([]);
      expect(await contents({})).toEqual(["stays"]);
      expect(await store.nearest({}, embedding, 5)).toEqual([]);
      expect(await store.similarities([id], embedding)).toEqual([]);
      expect((await store.changes([], null, 10)).entries).toHaveLength(1);
      expect(await store.update(id, { content: "back" })).toBe(false);
      expect(await store.sweep()).toBe(1);
      expect(await store.sweep()).toBe(0);
    });

    test("give the key of an expired entry to a new one", async () => {
      const expires_at = new Date(clock.now().getTime() + 1).toISOString();
      const old = await addOne({ key: "k", expires_at });
      clock.advance(1);
      const [added] = await store.add([{ namespace, key: "k", content: "new" }]);
      expect(added!.isNew).toBe(true);
      expect(added!.id).not.toBe(old);
      expect(await contents({})).toEqual(["new"]);
      expect(await store.sweep()).toBe(0);
    });

    test("update parts of an entry that is as it was read", async () => {
      const embedding = { model: "m", vector: vectorAt(0) };
      const id = await addOne({ embedding });
      const read = await only(id);
      expect(await store.update(id, { importance: 1 }, read.updated_at)).toBe(true);
      expect((await only(id)).embedding_model).toBe("m");
      expect(await store.update(id, { content: "new" }, read.updated_at)).toBe(false);
      const metadata = { ...read.metadata, tags: ["t"], data: { a: 1 } };
      const change = { content: "new", metadata, memory_type: "episodic" as const };
      expect(await store.update(id, { ...change, expires_at: null })).toBe(true);
      expect(await only(id)).toMatchObject({ ...change, importance: 1, embedding_model: null });
      expect(await store.nearest({}, embedding, 5)).toEqual([]);
      expect(await store.update("01900000-0000-7000-8000-00000000ffff", change)).toBe(false);
      expect(await store.update("no id", change)).toBe(false);
    });

    test("find the nearest entries among those of the same model", async () => {
      const vectors = [
        vectorAt(0),
        vectorAt(0, 4, 0.5),
        vectorAt(1),
        vectorAt(2).map((part) => -part),
      ];
      const ids: string[] = [];
      for (const vector of vectors) {
        ids.push(await addOne({ embedding: { model: "m", vector }, thread_id: `t${ids.length}` }));
      }
      await addOne({ embedding: { model: "other", vector: vectorAt(0) } });
      await addOne({ embedding: { model: "zero", vector: new Float32Array(4) } });
      await addOne();
      const query = { model: "m", vector: vectorAt(0) };
      const found = await store.nearest({}, query, 3);
      expect(found.map(({ id }) => id)).toEqual([ids[0], ids[1], expect.any(String)]);
      expect(found[0]!.similarity).toBeCloseTo(1, 2);
      expect(found[1]!.similarity).toBeCloseTo(2 / Math.sqrt(5), 2);
      expect(await store.nearest({}, query, 10)).toHaveLength(4);
      expect((await store.nearest({ threadId: "t1" }, query, 3)).map(({ id }) => id)).toEqual([
        ids[1],
      ]);
      const similar = await store.similarities([ids[2]!, ids[1]!, "no id"], query);
      expect(new Map(similar.map((one) => [one.id, one.similarity]))).toEqual(
        new Map([
          [ids[1], expect.closeTo(2 / Math.sqrt(5), 5)],
          [ids[2], expect.closeTo(0, 5)],
        ]),
      );
      const nothing = { model: "m", vector: new Float32Array(4) };
      expect(await store.nearest({}, nothing, 3)).toEqual([]);
      expect(await store.nearest({}, { model: "zero", vector: vectorAt(0) }, 3)).toEqual([]);
      expect(await store.nearest({}, { model: "m", vector: vectorAt(0, 5) }, 3)).toEqual([]);
    });

    test("set vectors of 3,072 dimensions, whatever their length", async () => {
      const a = await addOne();
      const b = await addOne();
      const model = "large'; drop table memory_entry; --";
      const vector = vectorAt(3_000, 3_072).map((part) => part * 5);
      await store.setVectors([
        { id: a, model, vector },
        { id: b, model, vector: vectorAt(2_999, 3_072, 1) },
        { id: "01900000-0000-7000-8000-00000000ffff", model, vector },
      ]);
      const found = await store.nearest({}, { model, vector }, 5);
      expect(found.map(({ id }) => id)).toEqual([a, b]);
      expect(found[0]!.similarity).toBeCloseTo(1, 2);
      expect((await only(a)).embedding_model).toBe(model);
    });

    test("set no vector of a content that was replaced meanwhile", async () => {
      const embedding = { model: "m", vector: vectorAt(0) };
      const ids = [await addOne({ key: "a" }), await addOne({ key: "b" })];
      const read = await store.get(ids);
      await store.update(ids[0]!, { content: "new" });
      await store.setVectors(
        read.map(({ id, updated_at: readAt }) => ({ id, readAt, ...embedding })),
      );
      const found = await store.nearest({}, embedding, 5);
      expect(found.map(({ id }) => id)).toEqual([ids[1]]);
      expect((await only(ids[0]!)).embedding_model).toBeNull();
    });

    test("list the entries without a vector of a model, oldest first", async () => {
      await addOne({ content: "has", embedding: { model: "m", vector: vectorAt(0) } });
      await addOne({ content: "other", embedding: { model: "n", vector: vectorAt(0) } });
      await addOne({ content: "none" });
      const found = await store.withoutVector({}, "m", 10);
      expect(found.map(({ content }) => content)).toEqual(["other", "none"]);
      expect(await store.withoutVector({}, "m", 1)).toHaveLength(1);
    });

    test("refuse vectors whose dimensions change, and write nothing then", async () => {
      const embedding = { model: "m", vector: vectorAt(0, 4) };
      const id = await addOne({ embedding });
      const other = { model: "m", vector: vectorAt(0, 5) };
      const error = { expected: "4", found: 5 };
      await expect(
        store.add([
          { namespace, content: "x" },
          { namespace, content: "y", embedding: other },
        ]),
      ).rejects.toMatchObject(error);
      await expect(
        store.put({ namespace, key: "k", content: "x", embedding: other }),
      ).rejects.toThrow(MemoryDimensionError);
      await expect(store.setVectors([{ id, ...other }])).rejects.toThrow(MemoryDimensionError);
      expect(await store.count({})).toBe(1);
      const two = [vectorAt(0, 3), vectorAt(0, 6)].map((vector) => ({
        namespace,
        content: "z",
        embedding: { model: "n", vector },
      }));
      await expect(store.add(two)).rejects.toThrow(MemoryDimensionError);
      await addOne({ embedding: { model: "n", vector: vectorAt(0, 6) } });
    });

    test("report what has changed since a position", async () => {
      const ids = (await store.add(["a", "b", "c"].map((content) => ({ namespace, content })))).map(
        ({ id }) => id,
      );
      await addOne({ namespace: ["elsewhere"] });
      const seen: string[] = [];
      let position: string | null = null;
      for (let more = true; more;) {
        const page = await store.changes(namespace, position, 2);
        expect(page.entries.length).toBeLessThanOrEqual(2);
        seen.push(...page.entries.map(({ id }) => id));
        ({ position, hasMore: more } = page);
      }
      expect(new Set(seen)).toEqual(new Set(ids));
      const later = async () => {
        const page = await store.changes(namespace, position, 100);
        ({ position } = page);
        return page.entries;
      };
      // On a server, what other transactions may still write to is read again.
      const again = await later();
      expect(again.filter(({ id }) => subject.isAlone || !ids.includes(id))).toEqual([]);
      await store.update(ids[1]!, { content: "B" });
      await store.setVectors([{ id: ids[2]!, model: "m", vector: vectorAt(0) }]);
      await store.recordUses([{ id: ids[0]!, run: "r", threadId: null, score: 1 }]);
      const changed = await later();
      expect(new Set(changed.map(({ id }) => id))).toEqual(new Set(ids));
      const { vector, content } = changed.find(({ id }) => id === ids[2])!;
      expect(content).toBe("c");
      expect(vector).toEqual(subject.hasVectorIndex ? null : vectorAt(0));
      await expect(store.changes(namespace, "'; --", 10)).rejects.toThrow(InvalidMemoryError);
    });

    test("count one use for a run", async () => {
      const id = await addOne();
      const use = { id, run: "r1", threadId: "t", score: 0.25 };
      await Promise.all([store.recordUses([use, use]), store.recordUses([use])]);
      clock.advance(5);
      await store.recordUses([use, { ...use, run: "r2", score: 0.75 }]);
      await store.recordUses([{ ...use, id: "01900000-0000-7000-8000-00000000ffff" }]);
      const { access_count, last_accessed, last_score } = await only(id);
      expect([access_count, last_score]).toEqual([2, 0.75]);
      expect(last_accessed).toBe(clock.now().toISOString());
      await expect(store.recordUses([{ ...use, score: 2 }])).rejects.toThrow(InvalidMemoryError);
    });

    test("move, merge and evict entries as they were read", async () => {
      const add = (content: string) => addOne({ content, memory_type: "short_term" });
      const [moved, merged, evicted, archived, changed] = (await Promise.all(
        ["moved", "merged", "evicted", "archived", "changed"].map(add),
      )) as [string, string, string, string, string];
      const use = { threadId: "t", score: 1 };
      await store.recordUses([{ ...use, id: moved, run: "a" }]);
      clock.advance(1);
      await store.recordUses([
        { ...use, id: merged, run: "a" },
        { ...use, id: merged, run: "b" },
      ]);
      const readAt = (await only(moved)).updated_at;
      await store.update(changed, { importance: 0.1 });
      const counts = await store.consolidating({ namespace, threadId: null }, (apply) =>
        apply([
          {
            kind: "move",
            id: moved,
            readAt,
            to: "semantic",
            importance: 0.8,
            summary: "short",
            embedding: { model: "m", vector: vectorAt(0) },
          },
          { kind: "merge", id: merged, readAt, into: moved },
          { kind: "merge", id: merged, readAt, into: moved },
          { kind: "evict", id: evicted, readAt, archive: false },
          { kind: "evict", id: archived, readAt, archive: true },
          { kind: "evict", id: changed, readAt, archive: true },
        ]),
      );
      expect(counts).toEqual({ consolidated: 1, merged: 1, evicted: 2, archived: 1, skipped: 2 });
      expect(new Set(await contents({}))).toEqual(new Set(["short", "changed"]));
      expect(await only(moved)).toMatchObject({
        memory_type: "semantic",
        importance: 0.8,
        content: "short",
        summary: "short",
        access_count: 3,
        last_accessed: clock.now().toISOString(),
        metadata: { merged: [merged] },
        embedding_model: "m",
      });
      expect((await store.archived({})).map(({ content }) => content)).toEqual(["archived"]);
      expect(await store.nearest({}, { model: "m", vector: vectorAt(0) }, 1)).toMatchObject([
        { id: moved },
      ]);
      expect(await store.forget({ namespace })).toEqual({
        entries: 2,
        archived: 1,
        uses: 2,
        threads: ["t"],
      });
    });

    test("merge nothing into an entry that says something else by now", async () => {
      const ids = [];
      for (const content of ["a", "b", "c"])
        ids.push(await addOne({ content, memory_type: "short_term" }));
      const into = await addOne({ content: "changes" });
      const { updated_at: intoReadAt } = await only(into);
      const merge = async (...merged: readonly string[]) => {
        const entries = await store.get(merged);
        const changes = entries.map(({ id, updated_at: readAt }) => {
          return { kind: "merge", id, readAt, into, intoReadAt } as const;
        });
        return store.consolidating({ namespace, threadId: null }, (apply) => apply(changes));
      };
      expect(await merge(ids[0]!, ids[1]!)).toMatchObject({ merged: 2, skipped: 0 });
      await store.update(into, { content: "changed" });
      expect(await merge(ids[2]!)).toMatchObject({ merged: 0, skipped: 1 });
      expect(await contents({})).toEqual(["changed", "c"]);
    });

    test("let one consolidation of a thread run at a time", async () => {
      const at = { namespace, threadId: "t" };
      const id = await addOne();
      await store.consolidating(at, async (apply) => {
        await expect(store.consolidating(at, async () => 0)).rejects.toThrow(MemoryBusyError);
        expect(await store.consolidating({ ...at, threadId: null }, async () => 1)).toBe(1);
        expect(await memories.forTenant(newTenant()).consolidating(at, async () => 2)).toBe(2);
        const { updated_at: readAt } = await only(id);
        const move = { kind: "move", id, readAt, to: "semantic" } as const;
        await expect(apply([{ ...move, importance: 2 }])).rejects.toThrow(InvalidMemoryError);
      });
      await expect(
        store.consolidating(at, () => Promise.reject(new RangeError("x"))),
      ).rejects.toThrow(RangeError);
      expect(await store.consolidating(at, async () => 3)).toBe(3);
    });

    test("forget entries, archived copies and uses, and say which threads had them", async () => {
      const user = [...namespace, "users", "u"];
      const [a, b, other] = [
        await addOne({ namespace: user }),
        await addOne({ namespace: user }),
        await addOne(),
      ];
      await store.recordUses([{ id: a, run: "r1", threadId: "t2", score: 1 }]);
      clock.advance(1);
      await store.recordUses([{ id: b, run: "r4", threadId: "t3", score: 1 }]);
      clock.advance(1);
      await store.recordUses(
        [a, b, other].map((id) => ({ id, run: "r2", threadId: "t1", score: 1 })),
      );
      clock.advance(1);
      await store.recordUses([{ id: a, run: "r3", threadId: "t0", score: 1 }]);
      const { updated_at: readAt } = await only(b);
      await store.consolidating({ namespace: user, threadId: null }, (apply) =>
        apply([{ kind: "evict", id: b, readAt, archive: true }]),
      );
      await addOne({ namespace: user, expires_at: clock.now().toISOString() });
      expect(await store.forget({ namespace: user })).toEqual({
        entries: 2,
        archived: 1,
        uses: 5,
        threads: ["t2", "t3", "t1", "t0"],
      });
      expect(await store.archived({})).toEqual([]);
      expect(await store.count({})).toBe(1);
      expect(await store.forget({ namespace: user })).toEqual({
        entries: 0,
        archived: 0,
        uses: 0,
        threads: [],
      });
      await expect(store.forget({})).rejects.toThrow(InvalidMemoryError);
      await expect(store.forget({ exact: true })).rejects.toThrow(InvalidMemoryError);
      expect((await store.forget({ namespace: [] })).entries).toBe(1);
    });

    test("remove archived copies that have expired", async () => {
      const expires_at = new Date(clock.now().getTime() + 1).toISOString();
      const id = await addOne({ memory_type: "short_term", expires_at });
      const { updated_at: readAt } = await only(id);
      await store.consolidating({ namespace, threadId: null }, (apply) =>
        apply([{ kind: "evict", id, readAt, archive: true }]),
      );
      expect(await store.archived({})).toHaveLength(1);
      clock.advance(1);
      expect(await store.archived({})).toEqual([]);
      expect(await store.sweep()).toBe(1);
      expect(await store.sweep()).toBe(0);
    });

    test("never wait for each other without end, whatever runs at the same time", async () => {
      const keys = ["a", "b", "c", "d", "e", "f"];
      const entries = keys.map((key) => ({ namespace, key, content: key }));
      const expiring = (expires_at: string) =>
        entries.map((entry) => ({ ...entry, key: `${entry.key}${expires_at}`, expires_at }));
      const past = clock.now().toISOString();
      const ids = (await store.add(entries)).map(({ id }) => id);
      await store.add(expiring(past));
      const uses = (run: string) =>
        ids.map((id) => ({ id, run, threadId: "t", score: 1 }) as const);
      const evictAll = async (threadId: string) => {
        const changes = (await store.get(ids)).map(({ id, updated_at: readAt }) => {
          return { kind: "evict", id, readAt, archive: true } as const;
        });
        return store.consolidating({ namespace, threadId }, (apply) => apply(changes));
      };
      const vector = { model: "m", vector: vectorAt(0) };
      const ends = await Promise.allSettled([
        store.recordUses(uses("r1")),
        store.recordUses(uses("r2").toReversed()),
        store.add(entries.toReversed()),
        store.add(expiring(past).toReversed()),
        store.setVectors(ids.toReversed().map((id) => ({ id, ...vector }))),
        evictAll("t1"),
        evictAll("t2"),
        store.sweep(),
        store.forget({ namespace }),
        store.forget({ ids: ids.toReversed() }),
      ]);
      expect(ends.filter(({ status }) => status === "rejected")).toEqual([]);
      await store.forget({ namespace });
      expect([await store.count({}), await store.archived({})]).toEqual([0, []]);
    });

    const nested: Record<string, unknown> = {};
    let innermost = nested;
    for (let depth = 0; depth < 50_000; depth += 1) innermost = innermost["a"] = {} as never;
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    test.each<[string, object]>([
      ["content of 10 MB", { content: "x".repeat(10_000_000) }],
      ["empty content", { content: "" }],
      ["NUL characters", { content: "a\0b" }],
      ["lone surrogates", { key: "\ud800" }],
      ["NUL characters in a tag", { metadata: { tags: ["\0"] } }],
      ["an empty namespace", { namespace: [] }],
      ["11 labels", { namespace: Array(11).fill("a") }],
      ["an id that is no UUID", { id: "1" }],
      ["an importance above 1", { importance: 1.1 }],
      ["an unknown type", { memory_type: "all" }],
      ["an unknown key", { tenant_id: "00000000-0000-0000-0000-000000000000" }],
      ["a time of no year", { created_at: "0000-01-01T00:00:00Z" }],
      ["a time that is none", { expires_at: "tomorrow" }],
      ["data of 300,000 characters", { metadata: { data: { a: "x".repeat(300_000) } } }],
      ["data without end", { value: nested }],
      ["data within itself", { value: circular }],
      ["data that is no JSON", { value: { a: new Map() } }],
      ["NaN in a vector", { embedding: { model: "m", vector: Float32Array.of(1, NaN) } }],
      ["5,000 dimensions", { embedding: { model: "m", vector: new Float32Array(5_000) } }],
      ["no dimensions", { embedding: { model: "m", vector: new Float32Array() } }],
      ["a list as a vector", { embedding: { model: "m", vector: [1, 0] } }],
      ["a model without a name", { embedding: { model: "", vector: vectorAt(0) } }],
    ])("refuse %s", async (_what, over) => {
      const entry = { namespace, content: "x", key: "k", ...over } as NewMemoryEntry & {
        key: string;
      };
      const refusal = { name: expect.stringMatching(/^(InvalidMemory|MemoryDimension)Error$/) };
      await expect(store.add([{ namespace, content: "good" }, entry])).rejects.toMatchObject(
        refusal,
      );
      await expect(store.put(entry)).rejects.toMatchObject(refusal);
      expect(await store.count({})).toBe(0);
    });

    test("refuse changes, filters and pages that are not valid", async () => {
      const id = await addOne();
      await expect(store.update(id, { content: "x".repeat(10_000_000) })).rejects.toThrow(
        InvalidMemoryError,
      );
      await expect(store.update(id, { content: "\0" })).rejects.toThrow(InvalidMemoryError);
      await expect(store.list({ threadId: "\0" })).rejects.toThrow(InvalidMemoryError);
      await expect(store.list({ since: "now()" })).rejects.toThrow(InvalidMemoryError);
      await expect(store.list({}, { limit: 1_001 })).rejects.toThrow(InvalidMemoryError);
      await expect(store.list({}, { limit: 0.5 })).rejects.toThrow(InvalidMemoryError);
      await expect(store.list({}, { after: "x" })).rejects.toThrow(InvalidMemoryError);
      await expect(
        store.nearest({}, { model: "m", vector: Float32Array.of(NaN) }, 1),
      ).rejects.toThrow(InvalidMemoryError);
      expect(() => memories.forTenant("' or true; --")).toThrow(InvalidMemoryError);
    });

    test("keep keys that name a prototype as data", async () => {
      const data = JSON.parse('{"__proto__": {"polluted": 1}, "constructor": 2}') as Record<
        string,
        unknown
      >;
      const stored = (await only(await addOne({ metadata: { data } }))).metadata.data!;
      expect(JSON.stringify(stored)).toBe('{"__proto__":{"polluted":1},"constructor":2}');
      expect(Object.getPrototypeOf(stored)).toBe(Object.prototype);
      expect(({} as { polluted?: number }).polluted).toBeUndefined();
    });

    test("give one tenant nothing of another, whatever ids it knows", async () => {
      const embedding = { model: "m", vector: vectorAt(0) };
      const id = await addOne({ key: "k", thread_id: "t", embedding });
      const archived = await addOne({ content: "archived" });
      const { updated_at: readAt } = await only(archived);
      await store.consolidating({ namespace, threadId: null }, (apply) =>
        apply([{ kind: "evict", id: archived, readAt, archive: true }]),
      );
      await store.recordUses([{ id, run: "r", threadId: "t", score: 1 }]);
      const before = [await only(id), await store.archived({})];
      const other = memories.forTenant(newTenant());
      const ids = [id, archived];

      expect(await other.get(ids)).toEqual([]);
      expect(await other.list({ ids })).toEqual([]);
      await expect(other.list({}, { after: id })).rejects.toThrow(InvalidMemoryError);
      expect(await other.count({})).toBe(0);
      expect(await other.namespaces([])).toEqual([]);
      expect(await other.update(id, { content: "mine" })).toBe(false);
      await other.setVectors([{ id, model: "m", vector: vectorAt(1, 7) }]);
      expect(await other.withoutVector({ ids }, "n", 10)).toEqual([]);
      expect(await other.nearest({ ids }, embedding, 10)).toEqual([]);
      expect(await other.similarities(ids, embedding)).toEqual([]);
      expect((await other.changes([], null, 10)).entries).toEqual([]);
      await other.recordUses([{ id, run: "r2", threadId: "t", score: 1 }]);
      const read = (await only(id)).updated_at;
      const counts = await other.consolidating({ namespace, threadId: "t" }, (apply) =>
        apply([
          { kind: "evict", id, readAt: read, archive: true },
          { kind: "merge", id, readAt: read, into: archived },
        ]),
      );
      expect(counts.skipped).toBe(2);
      expect(await other.archived({ ids })).toEqual([]);
      expect(await other.forget({ ids })).toEqual({
        entries: 0,
        archived: 0,
        uses: 0,
        threads: [],
      });
      expect(await other.sweep()).toBe(0);
      // Ids, keys and models of tenants are their own.
      expect(await other.add([{ namespace, id, key: "k", content: "mine" }])).toEqual([
        { id, isNew: true },
      ]);
      await other.put({
        namespace,
        key: "k",
        content: "mine",
        embedding: { model: "m", vector: vectorAt(0, 7) },
      });

      expect([await only(id), await store.archived({})]).toEqual(before);
      expect(await store.nearest({}, embedding, 10)).toMatchObject([{ id }]);
      expect(await store.forget({ ids })).toEqual({
        entries: 1,
        archived: 1,
        uses: 1,
        threads: ["t"],
      });
    });
  });
}
