import { describe, expect, it } from "vitest";
import { angleEmbeddings } from "../../helpers/angle-embeddings.ts";
import { contentsOf, namespace, newTrial, nothing } from "../../helpers/consolidation-trial.ts";

describe("merging", () => {
  it("adds counts up in a long-term near-duplicate, and keeps where the text came from", async () => {
    const embeddings = angleEmbeddings({ Old: ["x", 1], New: ["x", 0.951] });
    const { say, consolidate, store, memory, one, clock } = newTrial(embeddings);
    const [old = "", recent = ""] = await say(
      { content: "Old", memory_type: "semantic", metadata: { source: "user", tags: ["home"] } },
      "New",
    );
    await memory.recordUses([{ id: old, run: "r1", threadId: null, score: 0.5 }]);
    clock.advance(1_000);
    await memory.recordUses([
      { id: recent, run: "r1", threadId: null, score: 0.5 },
      { id: recent, run: "r2", threadId: null, score: 0.5 },
    ]);
    expect(await consolidate()).toEqual({ ...nothing, merged: 1 });
    expect(await one(recent)).toBeUndefined();
    expect(await one(old)).toMatchObject({
      content: "Old",
      memory_type: "semantic",
      access_count: 3,
      metadata: { source: "user", tags: ["home"], merged: [recent] },
    });
    expect(await store.count({ namespace })).toBe(1);
  });

  it("keeps a text whose near-duplicate was replaced before the merge", async () => {
    const embeddings = angleEmbeddings({ Old: ["x", 1], New: ["x", 0.951] });
    let old = "";
    const { say, consolidate, store } = newTrial(embeddings, (inner) => ({
      consolidating: (at, work) =>
        inner.consolidating(at, (apply) =>
          work(async (changes) => {
            await inner.update(old, { content: "Something else" });
            return apply(changes);
          }),
        ),
    }));
    [old = ""] = await say({ content: "Old", memory_type: "semantic" }, "New");
    expect(await consolidate()).toEqual({ ...nothing, left: 1 });
    expect(await contentsOf(store, "short_term")).toEqual(["New"]);
  });

  it("keeps an entry that is less similar than 0.95", async () => {
    const embeddings = angleEmbeddings({ Old: ["x", 1], New: ["x", 0.949] });
    const { say, consolidate } = newTrial(embeddings);
    await say({ content: "Old", memory_type: "episodic" }, "New");
    expect(await consolidate()).toEqual({ ...nothing, consolidated: 1 });
  });

  it("keeps an entry with other figures, however similar its vector is", async () => {
    const one = "Order 1234 was refunded.";
    const other = "Order 1235 was refunded.";
    const embeddings = angleEmbeddings({ [one]: ["x", 1], [other]: ["x", 0.99] });
    const { say, consolidate, store } = newTrial(embeddings);
    await say({ content: one, memory_type: "episodic" }, other);
    expect(await consolidate()).toEqual({ ...nothing, consolidated: 1 });
    expect(await contentsOf(store, "episodic")).toEqual([one, other]);
  });

  it("merges into the next similar entry where the most similar has other figures", async () => {
    const embeddings = angleEmbeddings({
      "Room 7": ["x", 1],
      "In room 8": ["x", 0.999],
      "It is room 7": ["x", 0.96],
    });
    const { say, consolidate, one } = newTrial(embeddings);
    const [, into = "", from = ""] = await say(
      { content: "In room 8", memory_type: "episodic" },
      { content: "It is room 7", memory_type: "episodic" },
      "Room 7",
    );
    expect(await consolidate()).toEqual({ ...nothing, merged: 1 });
    expect((await one(into))?.metadata.merged).toEqual([from]);
  });

  it("never merges into another namespace", async () => {
    for (const embeddings of [angleEmbeddings(), null]) {
      const { say, consolidate } = newTrial(embeddings);
      await say(
        { content: "Same", memory_type: "episodic", namespace: [...namespace, "users", "u"] },
        { content: "Same", memory_type: "episodic", namespace: ["agents"] },
        { content: "Same", memory_type: "episodic", namespace: ["agents", "b"] },
        "Same",
      );
      expect(await consolidate()).toEqual({ ...nothing, consolidated: 1 });
    }
  });

  it("keeps an entry that outlives its near-duplicate", async () => {
    const { say, consolidate } = newTrial();
    const soon = "2026-02-01T00:00:00.000Z";
    await say({ content: "Same", memory_type: "episodic", expires_at: soon }, "Same");
    expect(await consolidate()).toEqual({ ...nothing, consolidated: 1 });
    await say({ content: "Same", expires_at: "2026-01-15T00:00:00.000Z" });
    expect(await consolidate()).toEqual({ ...nothing, merged: 1 });
  });

  it("merges near-duplicates of one call into the first in order", async () => {
    const embeddings = angleEmbeddings({ A: ["x", 1], B: ["x", 0.99], C: ["x", 0.98] });
    const { say, consolidate, one } = newTrial(embeddings);
    const [a = "", b = "", c = ""] = await say("A", "B", "C");
    expect(await consolidate({ strategy: "age" })).toEqual({
      ...nothing,
      consolidated: 1,
      merged: 2,
    });
    expect(await one(a)).toMatchObject({
      memory_type: "episodic",
      metadata: { merged: [b, c] },
    });
  });

  it("merges near-duplicates of one call whose first was summarised", async () => {
    const long = `${"The plan of the move. ".repeat(10)}It takes 3 days.`;
    const embeddings = angleEmbeddings();
    const { say, consolidate, one } = newTrial(embeddings);
    const fillers = Array.from({ length: 60 }, (_, at) => `Filler ${at}`);
    const [first = ""] = await say(long, ...fillers);
    const [last = ""] = await say(long);
    const done = await consolidate({ strategy: "age", maxEntryTokens: 20 });
    expect(done).toEqual({ ...nothing, consolidated: 61, merged: 1 });
    expect((await one(first))?.metadata.merged).toEqual([last]);
  });

  it("searches at most once for a candidate", async () => {
    const texts = ["A", "B", "C", "D"];
    const embeddings = angleEmbeddings({ A: ["x", 1], B: ["x", 0.99] });
    let searches = 0;
    const { say, consolidate } = newTrial(embeddings, (store) => ({
      nearest: (...given) => {
        searches += 1;
        return store.nearest(...given);
      },
    }));
    await say(...texts, { content: "C", memory_type: "episodic" });
    expect(await consolidate()).toEqual({ ...nothing, consolidated: 2, merged: 2 });
    expect(searches).toBe(3);
  });

  it("does not search for what is evicted", async () => {
    const embeddings = angleEmbeddings();
    const { say, consolidate } = newTrial(embeddings, () => ({
      nearest: () => Promise.reject(new Error("searched")),
    }));
    await say("A");
    embeddings.calls.length = 0;
    expect(await consolidate({ importanceThreshold: 1 })).toMatchObject({ evicted: 1 });
    expect(embeddings.calls).toEqual([]);
  });

  it("merges texts that differ in case and punctuation where there are no embeddings", async () => {
    const { say, consolidate, store } = newTrial();
    await say(
      { content: "Ann paid Bob.", memory_type: "semantic" },
      "ann paid bob!",
      "Bob paid Ann.",
      "Ann has paid Bob.",
    );
    expect(await consolidate()).toEqual({ ...nothing, consolidated: 2, merged: 1 });
    expect(await contentsOf(store, "episodic")).toEqual(["Ann has paid Bob.", "Bob paid Ann."]);
  });
});

describe("summaries", () => {
  const long = "First of all we agreed. Then we had lunch. The agreed price is 300 euros.";

  it("shortens a long entry to sentences of its own and embeds them", async () => {
    const embeddings = angleEmbeddings();
    const { say, consolidate, one, store } = newTrial(embeddings);
    const [id = ""] = await say(long);
    expect(await consolidate({ maxEntryTokens: 14 })).toEqual({ ...nothing, consolidated: 1 });
    const summary = "First of all we agreed. The agreed price is 300 euros.";
    expect(await one(id)).toMatchObject({ content: summary, summary });
    const [vector = new Float32Array()] = await embeddings.embed([summary]);
    expect(await store.nearest({}, { model: embeddings.id, vector }, 1)).toEqual([
      { id, similarity: 1 },
    ]);
  });

  it("takes the text of a given function, cut to the limit and cleaned", async () => {
    const { say, consolidate, one } = newTrial();
    const [id = "", brief = ""] = await say(long, "Brief.");
    const asked: string[] = [];
    const summarise = async (text: string) => {
      asked.push(text);
      return "Agreed:\0 300 euros.\uD800 And a lot of other things.";
    };
    await consolidate({ maxEntryTokens: 10, summarise });
    expect(asked).toEqual([long]);
    expect(await one(id)).toMatchObject({ content: "Agreed: 300 euros." });
    expect(await one(brief)).toMatchObject({ content: "Brief.", summary: null });
  });

  it.each([
    ["throws", () => Promise.reject(new Error("down"))],
    ["returns nothing", () => Promise.resolve(" \n")],
  ])("leaves an entry where it was when the model %s", async (_, summarise) => {
    const { say, consolidate, store } = newTrial();
    await say(long, "Brief.");
    expect(await consolidate({ maxEntryTokens: 10, summarise })).toEqual({
      ...nothing,
      consolidated: 1,
      left: 1,
    });
    expect(await contentsOf(store, "short_term")).toEqual([long]);
  });

  it("stops asking a model that has failed three times in a row", async () => {
    const { say, consolidate } = newTrial();
    await say(...["a", "b", "c", "d", "e"].map((word) => `${word} ${long}`));
    let asked = 0;
    const summarise = () => {
      asked += 1;
      return asked === 2 ? Promise.resolve("Agreed.") : Promise.reject(new Error("down"));
    };
    expect(await consolidate({ maxEntryTokens: 10, summarise })).toEqual({
      ...nothing,
      consolidated: 1,
      left: 4,
    });
    expect(asked).toBe(5);
    asked = 2;
    expect(await consolidate({ maxEntryTokens: 10, summarise })).toMatchObject({ left: 4 });
    expect(asked).toBe(5);
  });
});

describe("embeddings", () => {
  it("leaves important entries where they were when the embeddings fail, and evicts the others", async () => {
    const embeddings = angleEmbeddings();
    const { say, consolidate, store, memory } = newTrial(embeddings);
    const [id = ""] = await say("Important", "Unimportant");
    await memory.recordUses([{ id, run: "r", threadId: "t", score: 1 }]);
    embeddings.broken.add("Important");
    const options = { importanceThreshold: 0.5, goal: "zzz" };
    expect(await consolidate(options)).toEqual({ ...nothing, evicted: 1, archived: 1, left: 1 });
    expect(await contentsOf(store, "short_term")).toEqual(["Important"]);
    embeddings.broken.clear();
    expect(await consolidate(options)).toEqual({ ...nothing, consolidated: 1 });
  });

  it("leaves an entry whose summary cannot be embedded", async () => {
    const embeddings = angleEmbeddings();
    embeddings.broken.add("Short.");
    const { say, consolidate, store } = newTrial(embeddings);
    await say("long ".repeat(100));
    expect(await consolidate({ maxEntryTokens: 10, summarise: async () => "Short." })).toEqual({
      ...nothing,
      left: 1,
    });
    expect(await contentsOf(store, "short_term")).toHaveLength(1);
  });

  it("leaves entries whose vectors are not usable, and moves those without words", async () => {
    const { dimensions, ...embeddings } = angleEmbeddings();
    const embed = async (texts: readonly string[]) =>
      texts.map((text) => new Float32Array(dimensions).fill(text === "Bad" ? Number.NaN : 0.1));
    const { say, consolidate, store } = newTrial({ ...embeddings, dimensions, embed });
    await say("Bad", "🎉", "Good");
    expect(await consolidate()).toEqual({ ...nothing, consolidated: 2, left: 1 });
    expect(await contentsOf(store, "short_term")).toEqual(["Bad"]);
  });

  it("gives an entry that has no vector one as it moves", async () => {
    const embeddings = angleEmbeddings();
    const { say, consolidate, store } = newTrial(embeddings);
    embeddings.broken.add("A");
    await say("A");
    expect(await store.withoutVector({}, embeddings.id, 9)).toHaveLength(1);
    embeddings.broken.clear();
    await consolidate();
    expect(await store.withoutVector({}, embeddings.id, 9)).toEqual([]);
  });
});
