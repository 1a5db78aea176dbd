import { systemClock, systemIds } from "../../src/clock.ts";
import { createMemory } from "../../src/memory/create-memory.ts";
import type { NewMemoryEntry } from "../../src/memory/entry.ts";
import { createInMemoryMemory } from "../../src/memory/in-memory-store.ts";
import { IndexCache } from "../../src/memory/search/index-cache.ts";
import { defaultTenant, type MemoryStore } from "../../src/memory/store.ts";
import type { Embeddings } from "../../src/models/embeddings/embeddings.ts";
import { openDatabase } from "../../src/storage/database.ts";
import { openDatabaseMemory } from "../../src/storage/memory/database-memory.ts";
import { randomNumbers } from "../helpers/random-numbers.ts";

export const latencyHead = [
  "ms a search",
  "words p50",
  "p95",
  "with vectors p50",
  "p95",
  "first search",
  "index, MB",
  "rss, MB",
];

const vocabulary = 30_000;
const stopWords = 50;
const dimensions = 384;
const queries = 100;
const namespace = ["bench"];
const model = "random";

export type StoreKind = "in-memory" | "pglite" | "postgres";

/** Times of searches over so many synthetic entries in one store. Null where there is no server. */
export async function latencyRow(
  kind: StoreKind,
  count: number,
  { url, mostVectors }: { readonly url: string; readonly mostVectors: number },
): Promise<string[] | null> {
  const hasVectors = kind === "in-memory" || count <= mostVectors;
  const opened = await openStore(kind, url).catch((thrown: unknown) => {
    console.error(`${kind}: ${String(thrown)}`);
    return null;
  });
  if (opened === null) return null;
  const { store, close } = opened;
  try {
    const random = randomNumbers(count);
    for (let from = 0; from < count; from += 500) {
      const entries = Array.from({ length: Math.min(500, count - from) }, (_, at) =>
        syntheticEntry(from + at, random, hasVectors),
      );
      await store.add(entries);
    }
    const lexical = createMemory({ store, embeddings: null, clock: systemClock });
    const vectors = createMemory({
      store,
      embeddings: randomEmbeddings(random),
      clock: systemClock,
    });
    const texts = Array.from({ length: queries + 1 }, () => syntheticText(7, random));
    const search = async (memory: typeof lexical, text: string) => {
      const start = performance.now();
      await memory.search({ namespace, text, topK: 10 });
      return performance.now() - start;
    };
    const first = await search(lexical, texts[0] ?? "");
    if (hasVectors) await search(vectors, texts[0] ?? "");
    const [words, meanings]: [number[], number[]] = [[], []];
    for (const text of texts.slice(1)) {
      words.push(await search(lexical, text));
      if (hasVectors) meanings.push(await search(vectors, text));
    }
    const index = await new IndexCache(store).open(namespace, { model });
    const ms = (times: number[], share: number) =>
      times.toSorted((a, b) => a - b)[Math.floor(share * times.length)]?.toFixed(1) ?? "";
    return [
      `${kind}, ${count.toLocaleString("en")} entries`,
      ms(words, 0.5),
      ms(words, 0.95),
      ms(meanings, 0.5),
      ms(meanings, 0.95),
      first.toFixed(0),
      (index.bytes / 1e6).toFixed(1),
      (process.memoryUsage().rss / 1e6).toFixed(0),
    ];
  } finally {
    await close();
  }
}

async function openStore(
  kind: StoreKind,
  url: string,
): Promise<{ readonly store: MemoryStore; readonly close: () => Promise<void> }> {
  if (kind === "in-memory") {
    const memories = createInMemoryMemory({ clock: systemClock, ids: systemIds });
    return { store: memories.forTenant(defaultTenant), close: async () => {} };
  }
  const database = await openDatabase(kind === "pglite" ? { inMemory: true } : { url });
  const schema = `bench_memory_${process.pid}_${Date.now()}`;
  const memories = openDatabaseMemory(database, { schema });
  try {
    await memories.setup();
  } catch (thrown) {
    await database.close();
    throw thrown;
  }
  return {
    store: memories.forTenant(defaultTenant),
    async close() {
      await database.pool.query(`drop schema ${schema} cascade`);
      await database.close();
    },
  };
}

/** Sessions of 20 turns, 10 minutes apart; an entry has 5 to 35 words. */
function syntheticEntry(number: number, random: () => number, hasVector: boolean): NewMemoryEntry {
  return {
    namespace,
    thread_id: `session ${Math.floor(number / 20)}`,
    memory_type: "short_term",
    content: syntheticText(5 + Math.floor(30 * random()), random),
    created_at: new Date(Date.UTC(2024, 0, 1) + 600_000 * number).toISOString(),
    metadata: { source: number % 2 === 0 ? "user" : "agent" },
    embedding: hasVector ? { model, vector: randomVector(random) } : null,
  };
}

/**
 * Words by Zipf's law: the word of rank r comes up as 1 / r. The first ranks are stop words in real text, which search
 * does not index, so that they are left out.
 */
function syntheticText(length: number, random: () => number): string {
  const words = Array.from(
    { length },
    () => `w${Math.floor(stopWords * (vocabulary / stopWords) ** random())}x`,
  );
  return words.join(" ");
}

function randomVector(random: () => number): Float32Array {
  const vector = Float32Array.from({ length: dimensions }, () => random() - 0.5);
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

function randomEmbeddings(random: () => number): Embeddings {
  return {
    id: model,
    dimensions,
    embed: async (texts) => texts.map(() => randomVector(random)),
  };
}
