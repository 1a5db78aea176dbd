import { InMemoryStore } from "@langchain/langgraph";
import { systemClock, systemIds } from "../../src/clock.ts";
import { createMemory } from "../../src/memory/create-memory.ts";
import { createInMemoryMemory } from "../../src/memory/in-memory-store.ts";
import { defaultTenant } from "../../src/memory/store.ts";
import { type Embeddings, similarity } from "../../src/models/embeddings/embeddings.ts";
import { createBm25 } from "../../src/tools/selection/bm25.ts";
import { median } from "../helpers/median.ts";
import { categories, type LocomoConversation, type LocomoQuestion } from "./locomo.ts";

/** Ids of turns, best first; at least 20 where there are so many. */
type Ranker = (question: LocomoQuestion) => Promise<readonly string[]>;
type PrepareRanker = (conversation: LocomoConversation) => Promise<Ranker>;

const cutoffs = [5, 10, 20] as const;

export const qualityHead = [
  "evidence recall, %",
  ...cutoffs.map((at) => `@${at}`),
  ...categories.map((name) => `${name} @10`),
  "worst conversation @10",
  "ms a query",
];

/** Rows of recall. Those that need the encoder are left out where it is null. */
export async function qualityRows(
  conversations: readonly LocomoConversation[],
  encoder: Embeddings | null,
): Promise<string[][]> {
  const rankers: [name: string, prepare: PrepareRanker][] = [
    ["BM25", async (conversation) => rankByBm25(conversation)],
    ["ours, without encoder", (conversation) => rankByMemory(conversation, null)],
  ];
  if (encoder !== null) {
    rankers.push(
      ["vectors", (conversation) => rankByVectors(conversation, encoder)],
      ["LangGraph InMemoryStore", (conversation) => rankByLangGraph(conversation, encoder)],
      ["BM25 and vectors, RRF", (conversation) => rankByRrf(conversation, encoder)],
      ["ours, with encoder", (conversation) => rankByMemory(conversation, encoder)],
    );
  }
  const rows: string[][] = [];
  for (const [name, prepare] of rankers)
    rows.push([name, ...(await measure(conversations, prepare))]);
  return rows;
}

interface Measured {
  readonly conversation: number;
  readonly category: number;
  /** By {@link cutoffs}. */
  readonly recall: readonly number[];
}

async function measure(
  conversations: readonly LocomoConversation[],
  prepare: PrepareRanker,
): Promise<string[]> {
  const all: Measured[] = [];
  const times: number[] = [];
  for (const conversation of conversations) {
    const rank = await prepare(conversation);
    for (const question of conversation.questions) {
      const start = performance.now();
      const found = await rank(question);
      times.push(performance.now() - start);
      const recall = cutoffs.map((at) => recallOf(found.slice(0, at), question.evidence));
      all.push({ conversation: conversation.number, category: question.category, recall });
    }
  }
  const by = (at: number, isCounted: (one: Measured) => boolean = () => true) =>
    percentOf(all.filter(isCounted).map(({ recall }) => recall[at] ?? 0));
  const worst = conversations.map(({ number }) => by(1, (one) => one.conversation === number));
  return [
    ...cutoffs.map((_, at) => by(at).toFixed(1)),
    ...categories.map((_, at) => by(1, ({ category }) => category === at + 1).toFixed(1)),
    Math.min(...worst).toFixed(1),
    median(times).toFixed(2),
  ];
}

function recallOf(found: readonly string[], evidence: readonly string[]): number {
  return evidence.filter((id) => found.includes(id)).length / evidence.length;
}

function percentOf(shares: readonly number[]): number {
  return (100 * shares.reduce((sum, share) => sum + share, 0)) / shares.length;
}

/** The way of an agent: entries are added, and then searched. */
export async function openMemory(
  { number, turns }: LocomoConversation,
  embeddings: Embeddings | null,
  namespace: readonly string[] = ["bench", String(number)],
) {
  const store = createInMemoryMemory({ clock: systemClock, ids: systemIds }).forTenant(
    defaultTenant,
  );
  const memory = createMemory({ store, embeddings, clock: systemClock, embedTimeoutMs: 3_600_000 });
  const added: { readonly id: string }[] = [];
  for (let from = 0; from < turns.length; from += 50) {
    const entries = turns.slice(from, from + 50).map(({ session, speaker, text, time }) => ({
      namespace,
      thread_id: `session ${session}`,
      memory_type: "short_term" as const,
      content: text,
      created_at: time,
      metadata: { source: "user" as const, speaker },
    }));
    added.push(...(await memory.add(entries)));
  }
  const turnOf = new Map(added.map(({ id }, at) => [id, turns[at]?.id ?? ""]));
  return { memory, namespace, turnOf };
}

async function rankByMemory(
  conversation: LocomoConversation,
  embeddings: Embeddings | null,
): Promise<Ranker> {
  const { memory, namespace, turnOf } = await openMemory(conversation, embeddings);
  return async ({ text }) => {
    const hits = await memory.search({ namespace, text, topK: 20 });
    return hits.map(({ entry }) => turnOf.get(entry.id) ?? "");
  };
}

function rankByBm25({ turns }: LocomoConversation): Ranker {
  const words = (text: string) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  const bm25 = createBm25(turns.map(({ text }) => words(text)));
  return async ({ text }) => best(turns, bm25.scores(words(text)));
}

async function rankByVectors({ turns }: LocomoConversation, encoder: Embeddings): Promise<Ranker> {
  const vectors = await encoder.embed(turns.map(({ text }) => text));
  return async ({ text }) => {
    const [asked = new Float32Array(encoder.dimensions)] = await encoder.embed([text]);
    return best(
      turns,
      Float64Array.from(vectors, (vector) => similarity(vector, asked)),
    );
  };
}

async function rankByRrf(conversation: LocomoConversation, encoder: Embeddings): Promise<Ranker> {
  const lists = [rankByBm25(conversation), await rankByVectors(conversation, encoder)];
  return async (question) => {
    const scores = new Map<string, number>();
    for (const rank of lists) {
      for (const [at, id] of (await rank(question)).entries()) {
        scores.set(id, (scores.get(id) ?? 0) + 1 / (61 + at));
      }
    }
    return [...scores].toSorted((a, b) => b[1] - a[1]).map(([id]) => id);
  };
}

async function rankByLangGraph(
  { turns }: LocomoConversation,
  encoder: Embeddings,
): Promise<Ranker> {
  const store = new InMemoryStore({
    index: {
      dims: encoder.dimensions,
      // Without fields it embeds the JSON of the value.
      fields: ["text"],
      embeddings: {
        embedDocuments: async (texts: string[]) =>
          (await encoder.embed(texts)).map((vector) => [...vector]),
        embedQuery: async (text: string) => [...((await encoder.embed([text]))[0] ?? [])],
      } as never,
    },
  });
  for (const { id, text } of turns) await store.put(["turns"], id, { text });
  return async ({ text }) => {
    const items = await store.search(["turns"], { query: text, limit: 20 });
    return items.map(({ key }) => key);
  };
}

function best(turns: LocomoConversation["turns"], scores: Float64Array): string[] {
  const order = turns.map((_, at) => at).toSorted((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0));
  return order.slice(0, 100).map((at) => turns[at]?.id ?? "");
}
