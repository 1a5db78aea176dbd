import { describe, expect, it } from "vitest";
import { systemIds } from "../../src/clock.ts";
import { createMemory } from "../../src/memory/create-memory.ts";
import { createInMemoryMemory } from "../../src/memory/in-memory-store.ts";
import type { Memory } from "../../src/memory/memory.ts";
import { defaultTenant } from "../../src/memory/store.ts";
import { EmbeddingError } from "../../src/models/embeddings/embeddings.ts";
import { changedStore } from "../helpers/changed-store.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { oddEmbeddings } from "../helpers/odd-embeddings.ts";

const namespace = ["agents", "support"];
const caught = (promise: Promise<unknown>) => promise.then(String, (thrown: unknown) => thrown);

function trial(id = "odd:1") {
  const clock = new ManualClock();
  const store = createInMemoryMemory({ clock, ids: systemIds }).forTenant(defaultTenant);
  const service = { isDown: false };
  const embeddings = oddEmbeddings(id, () => service.isDown);
  const memory = createMemory({ store, embeddings, clock });
  /** Entries without a vector, each of them a second after the one before. */
  const fill = async (contents: readonly string[], stepMs = 1_000) => {
    for (const content of contents) {
      clock.advance(stepMs);
      await store.add([{ namespace, content }]);
    }
  };
  return { clock, store, embeddings, memory, service, fill };
}

const lacking = async ({ store }: Memory, model = "odd:1") =>
  (await store.withoutVector({}, model, 1_000)).map(({ content }) => content);
const numbered = (count: number) => Array.from({ length: count }, (_, at) => `text ${at}`);

describe("entries without vectors of the model", () => {
  it.each([1_000, 0])("get theirs in pages, created %i ms apart", async (stepMs) => {
    const { memory, fill, clock } = trial();
    await fill(numbered(250), stepMs);
    const progress: number[] = [];
    expect(await memory.reembed({ onProgress: (done) => progress.push(done) })).toBe(250);
    expect(await lacking(memory)).toEqual([]);
    expect(progress.at(-1)).toBe(250);
    expect(await memory.reembed()).toBe(0);
    expect(clock.pending).toBe(0);
  });

  it("move from one model to another", async () => {
    const { store, clock, memory } = trial("odd:1");
    await memory.add(numbered(5).map((content) => ({ namespace, content })));
    const other = createMemory({ store, clock, embeddings: oddEmbeddings("odd:2") });
    expect(await other.reembed()).toBe(5);
    expect(await lacking(other, "odd:2")).toEqual([]);
    expect(await lacking(memory, "odd:1")).toHaveLength(5);
  });

  it("are only those that the filter selects", async () => {
    const { memory, fill, store } = trial();
    await fill(["one", "two"]);
    const since = new Date(Date.parse("2026-01-01T00:00:02Z")).toISOString();
    expect(await memory.reembed({ filter: { namespace, since } })).toBe(1);
    expect(await lacking(memory)).toEqual(["one"]);
    expect(await store.count({})).toBe(2);
  });
});

describe("a text that cannot be embedded", () => {
  it.each([1_000, 0])("is skipped and reported, created %i ms apart", async (stepMs) => {
    const { memory, fill } = trial();
    const odd = ["fail 1", "nan 2", "few 3", "?!", "long 4"];
    await fill([...numbered(3), ...odd, ...numbered(40)], stepMs);
    const skipped: string[] = [];
    const done = await memory.reembed({ onSkip: ({ reason }) => skipped.push(reason) });
    expect(done).toBe(43);
    expect(skipped.toSorted()).toEqual([
      'The embeddings "odd:1" gave 0 vectors for 1 texts.',
      "a text failed",
      "it has no words",
      "the vector cannot be used",
      "the vector cannot be used",
    ]);
    expect((await lacking(memory)).toSorted()).toEqual(odd.toSorted());
  });

  it("does not keep later pages from theirs, however many there are", async () => {
    const { memory, fill } = trial();
    await fill([...Array.from({ length: 230 }, (_, at) => `nan ${at}`), "last"], 0);
    expect(await memory.reembed()).toBe(1);
    expect(await lacking(memory)).toHaveLength(230);
  });

  it("is tried once in a run, though the store loses its vector", async () => {
    const { store, fill, clock } = trial();
    await fill(["one"]);
    const losing = changedStore(store, { setVectors: async () => undefined });
    const embeddings = oddEmbeddings();
    await createMemory({ store: losing, clock, embeddings }).reembed();
    expect(embeddings.calls).toEqual([["one"]]);
  });
});

describe("a run that ends early", () => {
  it("throws when the service is down, and is resumed by the next one", async () => {
    const { memory, fill, service } = trial();
    await fill(numbered(40));
    const onProgress = (done: number) => (service.isDown = done >= 32);
    const thrown = await caught(memory.reembed({ onProgress }));
    expect(thrown).toBeInstanceOf(EmbeddingError);
    expect(String(thrown)).toBe('EmbeddingError: The embeddings "odd:1" failed: down');
    expect(await lacking(memory)).toHaveLength(8);
    service.isDown = false;
    expect(await memory.reembed()).toBe(8);
  });

  it("stops at the signal", async () => {
    const { memory, fill } = trial();
    await fill(numbered(150));
    const controller = new AbortController();
    const onProgress = (done: number) => {
      if (done === 48) controller.abort(new Error("enough"));
    };
    const { signal } = controller;
    expect(await caught(memory.reembed({ signal, onProgress }))).toMatchObject({
      message: "enough",
    });
    expect(await lacking(memory)).toHaveLength(102);
  });
});

it("allows entries to be added while it runs", async () => {
  const { memory, fill, clock } = trial();
  await fill(numbered(120));
  let added = 0;
  const running = memory.reembed({
    onProgress: () => {
      clock.advance(1);
      added += 1;
      void memory.add([{ namespace, content: `new ${added}` }]);
    },
  });
  expect(await running).toBe(120);
  expect(await lacking(memory)).toEqual([]);
});
