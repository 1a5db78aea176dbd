import { describe, expect, it } from "vitest";
import { systemIds } from "../../src/clock.ts";
import { createMemory } from "../../src/memory/create-memory.ts";
import { InvalidMemoryError, MemoryDimensionError } from "../../src/memory/errors.ts";
import { createInMemoryMemory } from "../../src/memory/in-memory-store.ts";
import type { NewMemoryEntry } from "../../src/memory/entry.ts";
import { defaultTenant, type MemoryStore } from "../../src/memory/store.ts";
import { changedStore } from "../helpers/changed-store.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { oddEmbeddings } from "../helpers/odd-embeddings.ts";

const namespace = ["agents", "support"];
const entryOf = (content: string): NewMemoryEntry => ({ namespace, content });
const caught = (promise: Promise<unknown>) => promise.then(String, (thrown: unknown) => thrown);

function trial(change: (store: MemoryStore) => MemoryStore = (store) => store) {
  const clock = new ManualClock();
  const store = createInMemoryMemory({ clock, ids: systemIds }).forTenant(defaultTenant);
  const embeddings = oddEmbeddings();
  return {
    clock,
    store,
    embeddings,
    memory: createMemory({ store: change(store), embeddings, clock }),
  };
}

describe("entries that are added", () => {
  it("have a vector and the entities of their content", async () => {
    const { memory, store, embeddings, clock } = trial();
    const [added] = await memory.add([entryOf("Ada lives in Paris")]);
    expect(added).toMatchObject({ isNew: true, isEmbedded: true });
    const [entry] = await store.get([added?.id ?? ""]);
    expect(entry?.embedding_model).toBe("odd:1");
    expect(entry?.metadata.entities).toEqual(expect.arrayContaining(["Ada", "Paris"]));
    expect(embeddings.calls).toEqual([["Ada lives in Paris"]]);
    expect(clock.pending).toBe(0);
  });

  it("keep the entities and the vector that they come with", async () => {
    const { memory, store, embeddings } = trial();
    const own = { model: "own:1", vector: Float32Array.of(1, 0, 0) };
    const given = { ...entryOf("Ada"), metadata: { entities: ["Lovelace"] }, embedding: own };
    const [added] = await memory.add([given]);
    expect(added?.isEmbedded).toBe(true);
    const [entry] = await store.get([added?.id ?? ""]);
    expect([entry?.embedding_model, entry?.metadata.entities]).toEqual(["own:1", ["Lovelace"]]);
    expect(embeddings.calls).toEqual([]);
  });

  it.each([
    ["nan", [true, false, true]],
    ["zero", [true, false, true]],
    ["long", [true, false, true]],
    ["?!", [true, false, true]],
    ["fail", [false, false, false]],
    ["few", [false, false, false]],
  ])("are stored without a vector where there is none to use: %s", async (text, embedded) => {
    const { memory, store } = trial();
    const added = await memory.add(["one", text, "three"].map(entryOf));
    expect(added.map(({ isEmbedded }) => isEmbedded)).toEqual(embedded);
    const entries = await store.list({ namespace });
    expect(entries.map(({ content }) => content).toSorted()).toEqual(
      ["one", text, "three"].toSorted(),
    );
  });

  it("keep the vectors of the batches before one that fails", async () => {
    const { memory, embeddings } = trial();
    const texts = Array.from({ length: 50 }, (_, at) => (at === 20 ? "fail" : `text ${at}`));
    const added = await memory.add(texts.map(entryOf));
    expect(added.filter(({ isEmbedded }) => isEmbedded)).toHaveLength(16);
    expect(embeddings.calls.map(({ length }) => length)).toEqual([16, 16]);
  });

  it("wait ten seconds for embeddings that hang", async () => {
    const { memory, clock, store } = trial();
    const adding = memory.add([entryOf("hang")]);
    clock.advance(9_999);
    expect(await store.count({})).toBe(0);
    clock.advance(1);
    expect(await adding).toMatchObject([{ isNew: true, isEmbedded: false }]);
  });

  it("are not stored when the signal aborts", async () => {
    const { memory, store } = trial();
    const controller = new AbortController();
    const adding = caught(memory.add([entryOf("hang")], controller));
    controller.abort(new Error("enough"));
    expect(await adding).toMatchObject({ message: "enough" });
    expect(await store.count({})).toBe(0);
  });

  it("are stored without vectors when the store has others of the model", async () => {
    const refuse = (entries: readonly NewMemoryEntry[]) => {
      const refused = entries.some(({ embedding }) => embedding?.model === "odd:1");
      if (refused) throw new MemoryDimensionError("odd:1", "3", 2);
    };
    const { memory, store } = trial((inner) =>
      changedStore(inner, {
        add: async (entries) => {
          refuse(entries);
          return inner.add(entries);
        },
        put: async (entry) => {
          refuse([entry]);
          return inner.put(entry);
        },
      }),
    );
    expect(await memory.add([entryOf("one")])).toMatchObject([{ isEmbedded: false }]);
    const put = await memory.put({ ...entryOf("two"), key: "k" });
    expect(put.isEmbedded).toBe(false);
    expect(await store.count({})).toBe(2);
    const own = { model: "odd:1", vector: Float32Array.of(1, 0) };
    const refused = caught(memory.add([{ ...entryOf("three"), embedding: own }]));
    expect(await refused).toBeInstanceOf(MemoryDimensionError);
  });

  it("say of entries that were there whether those have a vector", async () => {
    const { memory, store } = trial();
    await store.add([{ ...entryOf("old"), key: "plain" }]);
    await memory.add([{ ...entryOf("old"), key: "embedded" }]);
    const again = ["plain", "embedded"].map((key) => ({ ...entryOf("new"), key }));
    expect(await memory.add(again)).toMatchObject([
      { isNew: false, isEmbedded: false },
      { isNew: false, isEmbedded: true },
    ]);
  });

  it.each(["", "a\0b", "\uD800", "x".repeat(32_769)])(
    "are refused before they are sent",
    async (text) => {
      const { memory, embeddings, store } = trial();
      const refused = await caught(memory.add([entryOf("fine"), entryOf(text)]));
      expect(refused).toBeInstanceOf(InvalidMemoryError);
      expect(String(refused)).toContain("1.content: ");
      expect(embeddings.calls).toEqual([]);
      expect(await store.count({})).toBe(0);
    },
  );

  it("are stored as they are without embeddings", async () => {
    const { store, clock } = trial();
    const memory = createMemory({ store, clock, embeddings: null });
    expect(memory.embeddingModel).toBeNull();
    expect(await memory.add([entryOf("one")])).toMatchObject([{ isEmbedded: false }]);
    expect(await memory.reembed()).toBe(0);
  });
});

it("replaces the entry of a key, and its vector", async () => {
  const { memory, store } = trial();
  const first = await memory.put({ ...entryOf("one"), key: "k" });
  const second = await memory.put({ ...entryOf("three"), key: "k" });
  expect(second).toEqual({ id: first.id, isEmbedded: true });
  const third = Float32Array.of(Math.cos(5), Math.sin(5));
  const [nearest] = await store.nearest({}, { model: "odd:1", vector: third }, 5);
  expect(nearest?.similarity).toBeCloseTo(1, 5);
  const blank = await memory.put({ ...entryOf("…"), key: "k" });
  expect(blank).toEqual({ id: first.id, isEmbedded: false });
  expect((await store.get([first.id]))[0]).toMatchObject({ content: "…", embedding_model: null });
});
