import { describe, expect, it } from "vitest";
import { InvalidMemoryError, MemoryBusyError } from "../../src/memory/errors.ts";
import { angleEmbeddings } from "../helpers/angle-embeddings.ts";
import { contentsOf, hour, namespace, newTrial, nothing } from "../helpers/consolidation-trial.ts";

describe("importance", () => {
  it("moves what reaches the threshold to long-term memory and evicts the rest", async () => {
    const { say, consolidate, store, memory, one } = newTrial();
    const [kept = "", gone = ""] = await say("Ann lives in Oslo.", "Nice weather today.");
    await memory.recordUses([{ id: kept, run: "r1", threadId: "t2", score: 1 }]);
    expect(await consolidate({ importanceThreshold: 0.6, goal: "zzz" })).toEqual({
      ...nothing,
      consolidated: 1,
      evicted: 1,
      archived: 1,
    });
    expect(await one(kept)).toMatchObject({
      memory_type: "episodic",
      content: "Ann lives in Oslo.",
      summary: null,
      access_count: 1,
      // 0.3 · exp(−25/168) + 0.3 · ln 2 / ln 21 + 0.4 · 1
      importance: expect.closeTo(0.72683, 4),
    });
    expect(await one(gone)).toBeUndefined();
    expect((await store.archived({ namespace })).map(({ id }) => id)).toEqual([gone]);
  });

  it("counts an importance that equals the threshold as high", async () => {
    const weights = { recency: 0, frequency: 0, relevance: 1 };
    const { say, consolidate, memory } = newTrial();
    const [a = "", b = ""] = await say("One.", "Two.");
    await memory.recordUses([
      { id: a, run: "r", threadId: "t", score: 0.5 },
      { id: b, run: "r", threadId: "t", score: 0.49 },
    ]);
    expect(await consolidate({ importanceThreshold: 0.5, weights })).toMatchObject({
      consolidated: 1,
      evicted: 1,
    });
  });

  it("evicts without a copy where archives are off", async () => {
    const { say, consolidate, store } = newTrial();
    await say("Nice weather today.");
    const options = { importanceThreshold: 1, archiveEvicted: false };
    expect(await consolidate(options)).toEqual({ ...nothing, evicted: 1 });
    expect(await store.archived({ namespace })).toEqual([]);
  });

  const byRelevance = {
    weights: { recency: 0, frequency: 0, relevance: 1 },
    importanceThreshold: 0.6,
  };

  it("takes the share of the goal's words where no search has found an entry", async () => {
    const { say, consolidate, store } = newTrial();
    await say("The invoices of March are paid.", "Pay the invoices.", "Lunch is late.");
    await consolidate({ ...byRelevance, goal: "Pay March invoices!" });
    expect(await contentsOf(store, "episodic")).toEqual([
      "Pay the invoices.",
      "The invoices of March are paid.",
    ]);
  });

  it("takes the last request of the thread's user as the goal where none is given", async () => {
    const { say, consolidate, store } = newTrial();
    const user = { source: "user" } as const;
    await say(
      { content: "Lunch menu please.", metadata: user },
      "The March invoices are paid.",
      { content: "Are the invoices of March paid?", metadata: user },
      { content: "Lunch menu!", metadata: { source: "agent" } },
    );
    await consolidate(byRelevance);
    expect(await contentsOf(store, "episodic")).toEqual([
      "Are the invoices of March paid?",
      "The March invoices are paid.",
    ]);
  });

  it("takes the cosine to the goal where there are embeddings", async () => {
    const embeddings = angleEmbeddings({ goal: ["g", 1], near: ["g", 0.7], far: ["g", 0.5] });
    const { say, consolidate, store } = newTrial(embeddings);
    await say("near", "far", "goal?");
    await consolidate({ ...byRelevance, goal: "goal" });
    expect(await contentsOf(store, "episodic")).toEqual(["near"]);
  });

  it("does without the embeddings of a goal that fail", async () => {
    const embeddings = angleEmbeddings();
    embeddings.broken.add("march");
    const { say, consolidate, store } = newTrial(embeddings);
    await say("The month of March.", "Lunch.");
    expect(await consolidate({ ...byRelevance, goal: "march" })).toMatchObject({ consolidated: 1 });
    expect(await contentsOf(store, "episodic")).toEqual(["The month of March."]);
  });
});

describe("changes", () => {
  it("calls models and embeddings outside of transactions", async () => {
    const embeddings = angleEmbeddings();
    let applying = false;
    const outside = async <T>(value: T): Promise<T> => {
      expect(applying).toBe(false);
      return value;
    };
    const { say, consolidate } = newTrial(
      { ...embeddings, embed: (texts) => outside(texts).then((all) => embeddings.embed(all)) },
      (store) => ({
        consolidating: (at, work) =>
          store.consolidating(at, (apply) =>
            work(async (changes) => {
              applying = true;
              try {
                return await apply(changes);
              } finally {
                applying = false;
              }
            }),
          ),
      }),
    );
    await say("long ".repeat(30), "Short.");
    const summarise = () => outside("Summary.");
    expect(await consolidate({ maxEntryTokens: 5, summarise })).toMatchObject({ consolidated: 2 });
  });

  it("leaves an entry that changes meanwhile", async () => {
    const { say, consolidate, store, one, clock } = newTrial();
    const [id = ""] = await say("long ".repeat(100));
    const summarise = async () => {
      clock.advance(1);
      await store.update(id, { content: "Changed." });
      return "Summary.";
    };
    expect(await consolidate({ maxEntryTokens: 5, summarise })).toEqual({ ...nothing, left: 1 });
    expect(await one(id)).toMatchObject({ memory_type: "short_term", content: "Changed." });
  });

  it("leaves the near-duplicate of an entry that changes meanwhile", async () => {
    const { say, consolidate, store, clock } = newTrial();
    const long = "long ".repeat(100);
    const [id = ""] = await say(long, long);
    const summarise = async () => {
      clock.advance(1);
      await store.update(id, { content: "Changed." });
      return "Summary.";
    };
    const options = { maxEntryTokens: 5, strategy: "age", summarise } as const;
    expect(await consolidate(options)).toEqual({ ...nothing, left: 2 });
    expect(await contentsOf(store, "short_term")).toEqual(["Changed.", long]);
  });

  it("leaves the near-duplicates of an entry that cannot be summarised", async () => {
    const { say, consolidate } = newTrial();
    const long = "long ".repeat(100);
    await say(long, long);
    const summarise = () => Promise.reject(new Error("down"));
    expect(await consolidate({ maxEntryTokens: 5, summarise })).toEqual({ ...nothing, left: 2 });
  });

  it("passes over an entry that is removed meanwhile", async () => {
    const { say, consolidate, store } = newTrial(null, (inner) => ({
      get: async (ids) => {
        await inner.forget({ ids: ids.slice(0, 1) });
        return inner.get(ids);
      },
    }));
    await say("One.", "Two.");
    expect(await consolidate()).toEqual({ ...nothing, consolidated: 1 });
    expect(await store.count({})).toBe(1);
  });

  it("applies many candidates in bounded batches", async () => {
    const sizes: number[] = [];
    const { say, consolidate } = newTrial(null, (store) => ({
      consolidating: (at, work) =>
        store.consolidating(at, (apply) =>
          work((changes) => {
            sizes.push(changes.length);
            return apply(changes);
          }),
        ),
    }));
    await say(...Array.from({ length: 120 }, (_, at) => `Entry number ${at}`));
    expect(await consolidate()).toMatchObject({ consolidated: 120 });
    expect(sizes).toEqual([50, 50, 20]);
  });

  it("keeps what it has done when it is aborted, and continues in another call", async () => {
    const { say, consolidate, store } = newTrial();
    await say(
      ...Array.from({ length: 60 }, (_, at) => `${"word ".repeat(at === 55 ? 50 : 1)}${at}`),
    );
    const controller = new AbortController();
    const summarise = async () => {
      controller.abort(new Error("stopped"));
      throw new Error("aborted");
    };
    const options = { maxEntryTokens: 20, strategy: "age" } as const;
    await expect(consolidate({ ...options, summarise, signal: controller.signal })).rejects.toThrow(
      "stopped",
    );
    expect(await store.count({ types: ["episodic"] })).toBe(50);
    expect(await consolidate(options)).toMatchObject({ consolidated: 10 });
  });

  it("does nothing in a second run", async () => {
    const { say, consolidate } = newTrial();
    await say("One.", "Two.");
    await consolidate();
    expect(await consolidate()).toEqual(nothing);
  });
});

describe("threads", () => {
  it("refuses options that are not valid", async () => {
    const { consolidate } = newTrial();
    await expect(consolidate({ maxEntries: 0 })).rejects.toThrow(InvalidMemoryError);
  });

  it("consolidates the overflow of one thread and leaves the others", async () => {
    const { say, memory, store } = newTrial();
    await say("One one.", { content: "Other thread.", thread_id: "t2" }, "Two two.");
    const done = await memory.consolidate({
      namespace,
      threadId: "t",
      maxTokens: 2,
      importanceThreshold: 0,
    });
    expect(done).toEqual({ ...nothing, consolidated: 1 });
    expect(await contentsOf(store, "short_term")).toEqual(["Other thread.", "Two two."]);
  });

  it("takes all threads under the namespace, and entries outside of threads, where none is given", async () => {
    const { say, consolidate, store } = newTrial();
    await say(
      "One.",
      { content: "Two.", thread_id: "t2" },
      { content: "Three.", thread_id: null },
      { content: "Four.", namespace: [...namespace, "users", "u"] },
      { content: "Five.", namespace: ["agents", "ab"] },
    );
    expect(await consolidate({ threadId: undefined })).toEqual({ ...nothing, consolidated: 4 });
    expect(await contentsOf(store, "short_term")).toEqual(["Five."]);
  });

  it("bounds the candidates of all threads together, those with the oldest entries first", async () => {
    const { say, consolidate, store } = newTrial();
    await say("One.", { content: "Two.", thread_id: "t2" }, "Three.");
    const options = { threadId: undefined, maxEntries: 2 };
    expect(await consolidate(options)).toEqual({ ...nothing, consolidated: 2 });
    expect(await contentsOf(store, "short_term")).toEqual(["Two."]);
  });

  it("continues where the entry at the end of a page is removed meanwhile", async () => {
    const removed: string[] = [];
    const { say, consolidate } = newTrial(null, (store) => ({
      list: async (filter, page) => {
        const listed = await store.list(filter, page);
        if (listed.length === 500 && removed.length === 0) {
          removed.push(...listed.slice(-2).map(({ id }) => id));
          await store.forget({ ids: removed });
        }
        return listed;
      },
    }));
    await say(...Array.from({ length: 510 }, (_, at) => `Entry ${at}`));
    expect(await consolidate({ importanceThreshold: 1 })).toMatchObject({ evicted: 508 });
  });

  it("reads threads of more than one page", async () => {
    const { say, consolidate } = newTrial();
    await say(...Array.from({ length: 501 }, (_, at) => `Entry ${at}`));
    const done = await consolidate({ maxEntries: 501, importanceThreshold: 1 });
    expect(done).toEqual({ ...nothing, evicted: 501, archived: 501 });
  });

  it("refuses a thread that is being consolidated, and skips it among all threads", async () => {
    const { say, memory, store, clock } = newTrial();
    await say("One.", { content: "Two.", thread_id: "t2" });
    clock.advance(25 * hour);
    await store.consolidating({ namespace, threadId: "t" }, async () => {
      const options = { namespace, importanceThreshold: 0 };
      await expect(memory.consolidate({ ...options, threadId: "t" })).rejects.toThrow(
        MemoryBusyError,
      );
      expect(await memory.consolidate(options)).toEqual({ ...nothing, consolidated: 1, busy: 1 });
    });
    expect(await contentsOf(store, "short_term")).toEqual(["One."]);
  });
});
