import type { Clock } from "../../clock.ts";
import { type Embeddings } from "../../models/embeddings/embeddings.ts";
import { overlap, stemsOf } from "../../models/words.ts";
import type { MemoryEntry, MemoryVector } from "../entry.ts";
import { InvalidMemoryError } from "../errors.ts";
import type { ConsolidateOptions, Memory } from "../memory.ts";
import type {
  ConsolidationChange,
  ConsolidationCounts,
  MemoryFilter,
  MemoryStore,
} from "../store.ts";
import { embedTexts } from "../vectors.ts";
import { createReadTexts } from "./near-duplicates.ts";
import { memoryTokens, planConsolidation, type ShortTermRecord } from "./plan.ts";
import { planChanges } from "./plan-changes.ts";
import type { ConsolidationRules } from "./rules.ts";

export interface ConsolidateThreadOptions {
  readonly store: MemoryStore;
  readonly embeddings: Embeddings | null;
  readonly clock: Clock;
  readonly search: Memory["search"];
  readonly options: Pick<ConsolidateOptions, "goal" | "summarise" | "signal">;
  readonly rules: ConsolidationRules;
  readonly apply: (changes: readonly ConsolidationChange[]) => Promise<ConsolidationCounts>;
}

export interface ThreadCounts {
  /** Entries that were chosen. */
  readonly candidates: number;
  readonly consolidated: number;
  readonly merged: number;
  readonly evicted: number;
  readonly archived: number;
  readonly left: number;
}

/** Entries that are read at once. */
const pageSize = 500;

/** Candidates of one transaction. Their texts, and the vectors of those that stay, are in memory together. */
const batchSize = 50;

/** Characters of a goal that are read. */
const goalCharacters = 8_000;

/** Consolidates the short-term entries of one thread, in batches, each of them one transaction. */
export async function consolidateThread(
  thread: { readonly namespace: readonly string[]; readonly threadId: string | null },
  given: ConsolidateThreadOptions,
): Promise<ThreadCounts> {
  const { store, clock, rules, apply, options } = given;
  const { signal } = options;
  const candidates = planConsolidation(await recordsOf(thread, given), rules, clock.now());
  const readTexts = createReadTexts({ ...given, namespace: thread.namespace });
  const counts = { consolidated: 0, merged: 0, evicted: 0, archived: 0, left: 0 };
  const planner = planChanges({ ...given, readTexts });
  for (let from = 0; from < candidates.length; from += batchSize) {
    signal?.throwIfAborted();
    const batch = candidates.slice(from, from + batchSize);
    const entries = await store.get(batch.map(({ id }) => id));
    const { changes, left } = await planner(
      batch.flatMap(({ id, relevance }) => {
        const entry = entries.find((one) => one.id === id);
        return entry?.memory_type === "short_term" ? [{ entry, relevance }] : [];
      }),
    );
    counts.left += left;
    if (changes.length === 0) continue;
    const applied = await apply(changes);
    counts.consolidated += applied.consolidated;
    counts.merged += applied.merged;
    counts.evicted += applied.evicted;
    counts.archived += applied.archived;
    counts.left += applied.skipped;
  }
  return { ...counts, candidates: candidates.length };
}

/** Pages of short-term entries, oldest first. Entries may be removed meanwhile. */
export async function* shortTermPages(
  store: MemoryStore,
  filter: Pick<MemoryFilter, "namespace" | "exact" | "threadId">,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly MemoryEntry[]> {
  const listAfter = (after?: string) =>
    store.list({ ...filter, types: ["short_term"] }, { order: "oldest", limit: pageSize, after });
  let page = await listAfter();
  for (;;) {
    signal?.throwIfAborted();
    yield page;
    if (page.length < pageSize) return;
    const ids = page.map(({ id }) => id);
    try {
      page = await listAfter(ids.at(-1));
    } catch (error) {
      if (!(error instanceof InvalidMemoryError)) throw error;
      // The last entry is gone: continue after one that is there.
      const there = new Set((await store.get(ids)).map(({ id }) => id));
      const last = ids.findLast((id) => there.has(id));
      if (last === undefined || last === ids.at(-1)) throw error;
      page = await listAfter(last);
    }
  }
}

/** All short-term entries of the thread, without their texts. */
async function recordsOf(
  {
    namespace,
    threadId,
  }: { readonly namespace: readonly string[]; readonly threadId: string | null },
  given: ConsolidateThreadOptions,
): Promise<readonly ShortTermRecord[]> {
  const { store, options } = given;
  const filter = { namespace, exact: true, threadId: threadId ?? undefined };
  const toGoal = await similarityToGoal(
    options.goal ?? (await latestRequest(filter, store)),
    given,
  );
  const records: ShortTermRecord[] = [];
  for await (const page of shortTermPages(store, filter, options.signal)) {
    const own = page.filter(({ thread_id: of }) => of === threadId);
    const similarities = await toGoal(own.filter(({ last_score: score }) => score === null));
    for (const entry of own) {
      const { id, created_at, last_accessed, access_count } = entry;
      records.push({
        id,
        created_at,
        last_accessed,
        access_count,
        tokens: memoryTokens(entry.content),
        relevance: entry.last_score ?? similarities.get(id) ?? 0,
      });
    }
  }
  return records;
}

/** What the user of a thread said last; empty outside of threads. */
async function latestRequest(filter: MemoryFilter, store: MemoryStore): Promise<string> {
  if (filter.threadId === undefined) return "";
  const [latest] = await store.list(
    { ...filter, types: ["short_term"], source: "user" },
    { order: "newest", limit: 1 },
  );
  return latest?.content ?? "";
}

/**
 * Returns a function from entries to their similarities to the goal, by id, from 0 to 1: the cosine of their vectors, or
 * the share of the goal's words that an entry has. Embeddings that fail are done without.
 */
async function similarityToGoal(
  goal: string,
  {
    store,
    embeddings,
    options: { signal },
  }: Pick<ConsolidateThreadOptions, "store" | "embeddings" | "options">,
): Promise<(entries: readonly MemoryEntry[]) => Promise<ReadonlyMap<string, number>>> {
  const text = goal.slice(0, goalCharacters);
  const stems = stemsOf(text);
  const vector = await goalVector(text, embeddings, signal);
  return async (entries) => {
    const found = new Map<string, number>();
    if (stems.size === 0) return found;
    for (const { id, content } of entries) found.set(id, overlap(stems, content) / stems.size);
    if (vector === null) return found;
    const near = await store.similarities(
      entries.map(({ id }) => id),
      vector,
    );
    for (const { id, similarity } of near) found.set(id, Math.max(0, Math.min(1, similarity)));
    return found;
  };
}

async function goalVector(
  goal: string,
  embeddings: Embeddings | null,
  signal: AbortSignal | undefined,
): Promise<MemoryVector | null> {
  if (embeddings === null) return null;
  try {
    const [vector = null] = await embedTexts([goal], embeddings, signal);
    return vector;
  } catch {
    signal?.throwIfAborted();
    return null;
  }
}
