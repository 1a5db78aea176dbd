import { describe, expect, it } from "vitest";
import { systemIds } from "../../../src/clock.ts";
import type { NewMemoryEntry } from "../../../src/memory/entry.ts";
import { InvalidMemoryError } from "../../../src/memory/errors.ts";
import { createInMemoryMemory } from "../../../src/memory/in-memory-store.ts";
import type { MemoryQuery } from "../../../src/memory/memory.ts";
import { createMemorySearch } from "../../../src/memory/search/memory-search.ts";
import { defaultTenant, type MemoryStore } from "../../../src/memory/store.ts";
import type { Embeddings } from "../../../src/models/embeddings/embeddings.ts";
import { setImmediate } from "node:timers/promises";
import { changedStore } from "../../helpers/changed-store.ts";
import { oddEmbeddings } from "../../helpers/odd-embeddings.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";

const namespace = ["agents", "a"];

function trial({ embeddings = null }: { embeddings?: Embeddings | null } = {}) {
  const clock = new ManualClock("2026-01-10T00:00:00.000Z");
  const store = createInMemoryMemory({ clock, ids: systemIds }).forTenant(defaultTenant);
  const { search, forget } = createMemorySearch({ store, embeddings, clock });
  return {
    clock,
    store,
    search,
    forget,
    add: async (...entries: (Partial<NewMemoryEntry> & { readonly content: string })[]) => {
      const added = await store.add(entries.map((entry) => ({ namespace, ...entry })));
      return added.map(({ id }) => id);
    },
    find: async (text: string, query: Partial<MemoryQuery> = {}) => {
      const hits = await search({ namespace, text, ...query });
      return hits.map(({ entry }) => entry.content);
    },
  };
}

/** Turns of one session, said by Ann and Bob in turn, a second apart. */
const session = (thread: string, ...texts: string[]): NewMemoryEntry[] =>
  texts.map((content, at) => ({
    namespace,
    content,
    thread_id: thread,
    memory_type: "short_term",
    created_at: new Date(Date.UTC(2026, 0, 2, 0, 0, at)).toISOString(),
    metadata: { source: "user", speaker: at % 2 === 0 ? "Ann" : "Bob" },
  }));

describe("a search by words", () => {
  it("finds words in other forms, best first, and says why", async () => {
    const { add, search } = trial();
    await add(
      { content: "She ran a marathon" },
      { content: "They run a shop" },
      { content: "Rain" },
    );
    const hits = await search({ namespace, text: "Who was running a marathon?" });
    expect(hits.map(({ entry }) => entry.content)).toEqual([
      "She ran a marathon",
      "They run a shop",
    ]);
    expect(hits[0]?.why).toMatchObject({
      keyword: 1,
      meaning: null,
      neighbours: 0,
      terms: ["running", "marathon"],
      entities: [],
    });
  });

  it("finds dates of entries", async () => {
    const { add, find } = trial();
    await add(
      { content: "Tea", created_at: "2025-05-08T10:00:00Z" },
      { content: "Cake", created_at: "2025-06-09T10:00:00Z" },
    );
    expect(await find("What was in June?")).toEqual(["Cake"]);
  });

  it("finds words of scripts without spaces", async () => {
    const { add, find } = trial();
    await add({ content: "我喜欢咖啡" }, { content: "他住在北京" });
    expect(await find("咖啡")).toEqual(["我喜欢咖啡"]);
  });

  it("prefers words that are adjacent as in the query", async () => {
    const { add, find } = trial();
    await add(
      { content: "red apples and blue house doors" },
      { content: "blue doors and the red house" },
    );
    expect((await find("red house"))[0]).toBe("blue doors and the red house");
  });

  it("finds nothing for a text without words", async () => {
    const { add, find } = trial();
    await add({ content: "Tea" });
    expect(await find("")).toEqual([]);
    expect(await find("🎉 ?!")).toEqual([]);
    expect(await find("the of and")).toEqual([]);
  });

  it("lifts the answer of a question, and stops at the end of a session", async () => {
    const { add, search } = trial();
    await add(
      ...session("s1", "Hello", "Which instrument do you play?", "Cello, since school", "Lovely"),
      ...session("s2", "Bye"),
    );
    const hits = await search({ namespace, text: "instrument" });
    expect(hits.map(({ entry }) => entry.content)).toEqual([
      "Which instrument do you play?",
      "Cello, since school",
      "Hello",
      "Lovely",
    ]);
    expect(hits[1]?.why.neighbours).toBeGreaterThan(hits[2]?.why.neighbours ?? 1);
  });

  it("prefers what the named speaker says, over what is said to that speaker", async () => {
    const { add, search } = trial();
    await add(...session("s1", "I like tea, Bob", "I like tea, Ann"));
    const [first] = await search({ namespace, text: "Does Bob like tea?" });
    expect(first?.entry.metadata.speaker).toBe("Bob");
    expect(first?.why).toMatchObject({ terms: ["like", "tea"], entities: ["bob"] });
  });

  it("finds the entries of a speaker where the query is a name alone", async () => {
    const { add, find } = trial();
    await add(...session("s1", "Tea", "Cake"));
    expect(await find("Bob")).toEqual(["Cake"]);
  });
});

describe("the score", () => {
  it("compares queries: a query that shares one word of many scores less", async () => {
    const { add, search } = trial();
    await add({ content: "Ann plays the cello" }, { content: "Rain in Rome" }, { content: "Tea" });
    const scoreOf = async (text: string) => (await search({ namespace, text }))[0]?.score ?? 0;
    const whole = await scoreOf("plays the cello");
    const part = await scoreOf("cello lessons for small elephants");
    expect(whole).toBeGreaterThan(0.7);
    expect(part).toBeLessThan(0.45);
    expect(part).toBeGreaterThan(0);
  });

  it("of an entry barely changes with entries that do not match", async () => {
    const { add, search } = trial();
    await add({ content: "Ann plays the cello" }, { content: "Rain in Rome" });
    const before = (await search({ namespace, text: "who plays cello" }))[0]?.score ?? 0;
    await add(...Array.from({ length: 50 }, (_, at) => ({ content: `Tea number ${at}` })));
    const after = (await search({ namespace, text: "who plays cello" }))[0]?.score ?? 0;
    expect(Math.abs(after - before)).toBeLessThan(0.05);
  });

  it("bounds what is returned by minScore and topK", async () => {
    const { add, find, search } = trial();
    await add({ content: "green tea" }, { content: "green grass on the other side" });
    const [, second] = await search({ namespace, text: "green tea" });
    expect(await find("green tea", { minScore: (second?.score ?? 0) + 0.01 })).toEqual([
      "green tea",
    ]);
    expect(await find("green tea", { topK: 1 })).toEqual(["green tea"]);
  });

  it("weighs importance and recency as asked", async () => {
    const { add, find } = trial();
    await add(
      { content: "green tea", importance: 0, created_at: "2026-01-09T00:00:00Z" },
      { content: "green tea!", importance: 1, created_at: "2025-01-09T00:00:00Z" },
    );
    expect((await find("green tea", { weights: { importance: 1, recency: 0 } }))[0]).toBe(
      "green tea!",
    );
    expect((await find("green tea", { weights: { importance: 0, recency: 1 } }))[0]).toBe(
      "green tea",
    );
  });
});

describe("entries made to be found", () => {
  it("gain little from repeated words", async () => {
    const { add, search } = trial();
    await add({ content: "The password policy asks for 12 characters" }, { content: "Tea" });
    await add({ content: "password policy ".repeat(200) });
    const hits = await search({ namespace, text: "password policy" });
    const honest = hits.find(({ entry }) => entry.content.startsWith("The"));
    expect(honest?.why.keyword).toBeGreaterThan(0.6);
  });

  it("gain little from a hundred entities", async () => {
    const { add, find } = trial();
    const entities = ["Rome", ...Array.from({ length: 99 }, (_, at) => `Name ${at}`)];
    await add(
      { content: "We liked the fountains", metadata: { entities: ["Rome"] } },
      { content: "Buy now", metadata: { entities } },
    );
    expect((await find("fountains in Rome"))[0]).toBe("We liked the fountains");
    expect((await find("Rome"))[0]).toBe("We liked the fountains");
  });
});

describe("a search with an encoder that", () => {
  it("hangs is by words after ten seconds", async () => {
    const { add, clock, search } = trial({ embeddings: oddEmbeddings() });
    await add({ content: "They hang pictures" });
    const searching = search({ namespace, text: "hang" });
    for (let turns = 0; clock.pending === 0 && turns < 100; turns += 1) await setImmediate();
    clock.advance(4_000);
    expect((await searching)[0]?.why.meaning).toBeNull();
    expect(clock.pending).toBe(0);
  });

  it("gives a vector without a direction finds nothing by meaning", async () => {
    const { add, search } = trial({ embeddings: oddEmbeddings() });
    const embedding = { model: "odd:1", vector: Float32Array.of(1, 0) };
    await add({ content: "Tea", embedding });
    expect(await search({ namespace, text: "zero" })).toEqual([]);
  });
});

describe("a search in a store with a vector index", () => {
  it.each([
    ["2026-01-01", "2026-01-31"],
    ["0000-01-01T00:00:00.000Z", "+010000-01-01T00:00:00.000Z"],
  ])("takes the days %s to %s as other searches do", async (since, until) => {
    const { add, clock, store } = trial();
    const embedding = { model: "odd:1", vector: Float32Array.of(1, 0) };
    await add({ content: "Tea", embedding });
    const { search } = createMemorySearch({
      store: changedStore(store, { hasVectorIndex: async () => true }),
      embeddings: oddEmbeddings(),
      clock,
    });
    const hits = await search({ namespace, text: "tea", since, until });
    expect(hits.map(({ why }) => why.meaning)).toEqual([1]);
  });
});

describe("adversarial entries", () => {
  it(
    "of thousands of words are read once for a query of as many",
    { timeout: 10_000 },
    async () => {
      const { add, search } = trial();
      const words = Array.from({ length: 1_500 }, (_, at) => `z${at.toString(36)}`);
      const spread = Array.from({ length: 7_000 }, (_, at) => words[(at * 7) % words.length]);
      await add(...Array.from({ length: 200 }, () => ({ content: spread.join(" ") })));
      const hits = await search({ namespace, text: words.join(" "), topK: 1 });
      expect(hits[0]?.why.terms).toHaveLength(1_500);
    },
  );

  it("that are written in any order have their neighbours in order of time", async () => {
    const { add, search } = trial();
    const texts = ["one", "two", "three", "four", "cello", "six", "seven", "eight", "nine"];
    const said = session("s1", ...texts);
    await add(...[5, 8, 0, 4, 3, 7, 1, 6, 2].flatMap((at) => said[at] ?? []));
    const hits = await search({ namespace, text: "cello", topK: 9, weights: { recency: 0 } });
    const found = hits.filter(({ why }) => why.neighbours > 0).map(({ entry }) => entry.content);
    expect(found).toEqual(["six", "four", "seven", "three", "eight", "two", "nine", "one"]);
  });
});

describe("filters", () => {
  it.each<[string, Partial<MemoryQuery>, string[]]>([
    ["types", { types: ["semantic"] }, ["tea c"]],
    ["a thread", { threadId: "t1" }, ["tea a"]],
    ["an instance", { instanceId: "i1" }, ["tea b"]],
    ["a source", { source: "user" }, ["tea a"]],
    ["tags", { tags: ["x", "y"] }, ["tea b"]],
    ["since", { since: "2026-01-03T00:00:00Z" }, ["tea c"]],
    ["until", { until: "2026-01-02T00:00:00Z" }, ["tea a"]],
    ["exact", { exact: true }, ["tea a", "tea b"]],
    ["except", { except: { threadId: "t1", types: ["episodic"] } }, ["tea b", "tea c"]],
    [
      "except other types",
      { except: { threadId: "t1", types: ["semantic"] } },
      ["tea a", "tea b", "tea c"],
    ],
    ["an unknown thread", { threadId: "t9" }, []],
  ])("select by %s", async (_, query, found) => {
    const { add, find } = trial();
    await add(
      {
        content: "tea a",
        memory_type: "episodic",
        thread_id: "t1",
        metadata: { source: "user", tags: ["x"] },
        created_at: "2026-01-01T00:00:00Z",
      },
      {
        content: "tea b",
        memory_type: "episodic",
        instance_id: "i1",
        metadata: { source: "agent", tags: ["y", "x"] },
        created_at: "2026-01-02T00:00:00Z",
      },
      {
        content: "tea c",
        namespace: [...namespace, "users", "u"],
        created_at: "2026-01-03T00:00:00Z",
      },
    );
    await add({ content: "tea d", namespace: ["agents", "ab"] });
    expect((await find("tea", query)).toSorted()).toEqual(found);
  });

  it.each<[string, Partial<MemoryQuery>]>([
    ["topK", { topK: 0 }],
    ["topK", { topK: 101 }],
    ["topK", { topK: Number.NaN }],
    ["minScore", { minScore: 2 }],
    ["namespace", { namespace: [] }],
    ["type", { types: ["toString" as "semantic"] }],
    ["source", { source: "constructor" as "user" }],
    ["since", { since: "soon" }],
    ["importance", { weights: { importance: -1 } }],
    ["recency", { weights: { recency: Number.POSITIVE_INFINITY } }],
    ["text", { text: 5 as unknown as string }],
  ])("with a bad %s are refused", async (word, query) => {
    const refused = trial().search({ namespace, text: "tea", ...query });
    await expect(refused).rejects.toThrow(InvalidMemoryError);
    await expect(refused).rejects.toThrow(word);
  });
});

describe("changes of the store", () => {
  it("are seen by the next search", async () => {
    const { add, find, store } = trial();
    const [id = ""] = await add({ content: "green tea" });
    expect(await find("tea")).toEqual(["green tea"]);
    await add({ content: "tea time" });
    expect(await find("tea")).toHaveLength(2);
    await store.update(id, { content: "black coffee" });
    expect(await find("tea")).toEqual(["tea time"]);
    expect(await find("coffee")).toEqual(["black coffee"]);
  });

  it("include removals, whose places further entries take", async () => {
    const { add, find, store } = trial();
    const ids = await add(
      ...Array.from({ length: 30 }, (_, at) => ({ content: `tea ${at}`, importance: at / 30 })),
    );
    expect(await find("tea", { topK: 2 })).toEqual(["tea 29", "tea 28"]);
    await store.forget({ ids: ids.slice(10) });
    expect(await find("tea", { topK: 2 })).toEqual(["tea 9", "tea 8"]);
  });

  it("include entries that expire", async () => {
    const { add, find, clock } = trial();
    await add({ content: "tea", expires_at: "2026-01-10T00:00:05.000Z" });
    expect(await find("tea")).toEqual(["tea"]);
    clock.advance(5_000);
    expect(await find("tea")).toEqual([]);
  });

  it("count accesses without reading the text again", async () => {
    const { add, search, store } = trial();
    const [id = ""] = await add({ content: "tea", created_at: "2025-01-01T00:00:00Z" });
    const recencyOf = async () => (await search({ namespace, text: "tea" }))[0]?.why.recency ?? 0;
    expect(await recencyOf()).toBeLessThan(0.001);
    await store.recordUses([{ id, run: "r", threadId: null, score: 1 }]);
    expect(await recencyOf()).toBe(1);
  });

  it("of concurrent searches are read once each", async () => {
    const { add, find } = trial();
    await add({ content: "tea" });
    const first = find("tea");
    await add({ content: "tea again" });
    const [before, after] = await Promise.all([first, find("tea")]);
    expect(before.length).toBeGreaterThan(0);
    expect(after).toHaveLength(2);
  });
});

describe("a search with an encoder", () => {
  /** Vectors by whether the text is about drinks. */
  const drinks: Embeddings = {
    id: "drinks",
    dimensions: 2,
    embed: async (texts) =>
      texts.map((text) =>
        /tea|thirsty/.test(text) ? new Float32Array([1, 0]) : new Float32Array([0, 1]),
      ),
  };
  const entries = async (model = "drinks") => {
    const texts = ["green tea", "thirsty weather", "a stone"];
    const vectors = await drinks.embed(["tea", "tea", "stone"]);
    return texts.map((content, at) => {
      const vector = vectors[at] ?? new Float32Array(2);
      return { content, embedding: { model, vector } };
    });
  };

  it("finds what shares no word, and says so", async () => {
    const { add, search } = trial({ embeddings: drinks });
    await add(...(await entries()));
    const hits = await search({ namespace, text: "tea", topK: 2 });
    expect(hits.map(({ entry }) => entry.content)).toEqual(["green tea", "thirsty weather"]);
    expect(hits.map(({ why }) => why.meaning)).toEqual([1, 1]);
  });

  it("does not compare vectors of other models", async () => {
    const { add, search } = trial({ embeddings: drinks });
    await add(...(await entries("other")));
    const hits = await search({ namespace, text: "tea" });
    expect(hits.map(({ entry, why }) => [entry.content, why.meaning])).toEqual([
      ["green tea", null],
    ]);
  });

  it.each<[string, Embeddings["embed"]]>([
    ["throws", () => Promise.reject(new Error("down"))],
    ["gives no vector", async () => []],
    ["gives other dimensions", async () => [new Float32Array(3)]],
    ["gives numbers that are none", async () => [new Float32Array([Number.NaN, 1])]],
  ])("falls back to words where it %s", async (_, embed) => {
    const { add, search } = trial({ embeddings: { ...drinks, embed } });
    await add(...(await entries()));
    const hits = await search({ namespace, text: "tea" });
    expect(hits.map(({ entry, why }) => [entry.content, why.meaning])).toEqual([
      ["green tea", null],
    ]);
  });

  it("asks a store with a vector index, and keeps the filter", async () => {
    const { store } = trial();
    const [, ...others] = await entries();
    await store.add(others.map((entry) => ({ namespace, ...entry })));
    const asked: unknown[] = [];
    const indexed = new Proxy(store, {
      get(target, key: keyof MemoryStore) {
        if (key === "hasVectorIndex") return async () => true;
        const member = target[key];
        if (typeof member !== "function") return member;
        return (...given: unknown[]) => {
          if (key === "nearest") asked.push(given[0], given[2]);
          return Reflect.apply(member, target, given) as unknown;
        };
      },
    });
    const { search } = createMemorySearch({
      store: indexed,
      embeddings: drinks,
      clock: new ManualClock(),
    });
    const query = { namespace, text: "tea", types: ["semantic"], topK: 1 } as const;
    const hits = await search({ ...query, since: "2026-01-01" });
    expect(hits.map(({ entry }) => entry.content)).toEqual(["thirsty weather"]);
    const since = "2026-01-01T00:00:00.000Z";
    expect(asked).toEqual([{ namespace, types: ["semantic"], since }, 200]);
  });

  it("scores the same where vectors do not have length 1", async () => {
    const scores = async (embed: Embeddings["embed"]) => {
      const { add, search } = trial({ embeddings: { ...drinks, embed } });
      await add(...(await entries()));
      const hits = await search({ namespace, text: "tea" });
      return hits.map(({ score }) => score);
    };
    const long: Embeddings["embed"] = async (texts) => {
      const vectors = await drinks.embed(texts);
      return vectors.map((vector) => vector.map((part) => part * 0.25));
    };
    expect(await scores(long)).toEqual(await scores((texts) => drinks.embed(texts)));
  });

  it("reads names of speakers as the speakers say them", async () => {
    const asked: string[] = [];
    const embeddings: Embeddings = {
      ...drinks,
      embed: (texts) => {
        asked.push(...texts);
        return drinks.embed(texts);
      },
    };
    const { add, search } = trial({ embeddings });
    await add(...session("s1", "Tea", "Cake"));
    await search({ namespace, text: "When did Ann see Bob's dog in Annecy?" });
    expect(asked).toEqual(["When did I see my dog in Annecy?"]);
  });
});

describe("a hostile query", () => {
  it.each([
    ["megabytes of words", "tea ".repeat(2_000_000)],
    ["one long word", "a".repeat(8_000_000)],
    ["quotes", `${"'s".repeat(100_000)} tea`],
    ["ligatures", "ﷺ".repeat(8_000)],
    ["Han characters", "茶".repeat(8_000)],
    ["prototype names", "__proto__ constructor toString hasOwnProperty"],
    ["lone surrogates", "\uD800 tea"],
  ])("of %s is answered", async (_, text) => {
    const { add, find } = trial();
    await add({ content: "green tea" });
    expect((await find(text)).length).toBeLessThan(2);
  });

  it("stops waiting when its signal aborts", async () => {
    const { search } = trial();
    const reason = new Error("stop");
    await expect(
      search({ namespace, text: "tea", signal: AbortSignal.abort(reason) }),
    ).rejects.toBe(reason);
  });
});
