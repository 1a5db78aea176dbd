import type { MemoryEntry, MemoryType } from "../entry.ts";
import type { ConsolidationRules } from "./rules.ts";

/** The type of a short-term entry once it is in long-term memory: what was said is what happened. */
export const longTermType: Exclude<MemoryType, "short_term"> = "episodic";

/** A short-term entry without its text. */
export interface ShortTermRecord extends Pick<
  MemoryEntry,
  "id" | "created_at" | "last_accessed" | "access_count"
> {
  /** {@link memoryTokens} of its content. */
  readonly tokens: number;
  /** From 0 to 1: the score of the last search, or the similarity to the goal. */
  readonly relevance: number;
}

/** The accesses at which frequency is 1. */
const fullFrequency = 20;

const hour = 3_600_000;

/**
 * Estimates tokens as a quarter of the UTF-8 bytes, rounded up: about four letters of Latin script or one and a third
 * of Chinese. Deterministic, and needs no tokenizer.
 */
export function memoryTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / 4);
}

/** Whether entries with this age or these tokens have candidates. `tokens` are those of the thread together. */
export function hasCandidates(
  thread: { readonly oldest: string; readonly tokens: number },
  rules: ConsolidationRules,
  now: Date,
): boolean {
  return thread.tokens > rules.maxTokens || ageInHours(thread.oldest, now) > rules.minAgeHours;
}

/**
 * Chooses what a consolidation works on, in order: entries older than `minAgeHours`, and the oldest that make up the
 * tokens over `maxTokens`; each once, and at most `maxEntries`.
 *
 * @param entries all short-term entries of a thread, in any order
 */
export function planConsolidation(
  entries: readonly ShortTermRecord[],
  rules: ConsolidationRules,
  now: Date,
): readonly ShortTermRecord[] {
  const candidates = candidatesAmong(entries, rules, now);
  const byAge = candidates.toSorted(olderFirst);
  const importance = new Map(
    candidates.map((entry) => [entry.id, importanceOf(entry, rules, now)]),
  );
  const byImportance = byAge.toSorted(
    (a, b) => (importance.get(b.id) ?? 0) - (importance.get(a.id) ?? 0),
  );
  const orders = {
    age: () => byAge,
    importance: () => byImportance,
    hybrid: () => byMeanRank(byAge, byImportance),
  };
  return orders[rules.strategy]().slice(0, rules.maxEntries);
}

/** In the order of age. Entries of the same importance keep that order. */
function byMeanRank(
  byAge: readonly ShortTermRecord[],
  byImportance: readonly ShortTermRecord[],
): readonly ShortTermRecord[] {
  const ranks = new Map(byAge.map(({ id }, rank) => [id, rank]));
  for (const [rank, { id }] of byImportance.entries()) ranks.set(id, (ranks.get(id) ?? 0) + rank);
  return byAge.toSorted((a, b) => (ranks.get(a.id) ?? 0) - (ranks.get(b.id) ?? 0));
}

function candidatesAmong(
  entries: readonly ShortTermRecord[],
  rules: ConsolidationRules,
  now: Date,
): readonly ShortTermRecord[] {
  const total = entries.reduce((sum, { tokens }) => sum + tokens, 0);
  let overflow = total - rules.maxTokens;
  return entries.toSorted(olderFirst).filter((entry) => {
    const isOverflow = overflow > 0;
    overflow -= entry.tokens;
    return isOverflow || ageInHours(entry.created_at, now) > rules.minAgeHours;
  });
}

function olderFirst(a: ShortTermRecord, b: ShortTermRecord): number {
  return Date.parse(a.created_at) - Date.parse(b.created_at) || (a.id < b.id ? -1 : 1);
}

/** From 0 to 1: the weighted sum of recency, frequency and relevance. */
export function importanceOf(
  entry: Pick<ShortTermRecord, "created_at" | "last_accessed" | "access_count" | "relevance">,
  { weights, halfLifeHours }: ConsolidationRules,
  now: Date,
): number {
  const sum =
    weights.recency * recencyOf(entry.last_accessed ?? entry.created_at, halfLifeHours, now) +
    weights.frequency * frequencyOf(entry.access_count) +
    weights.relevance * entry.relevance;
  return Math.min(1, Math.max(0, sum));
}

/** 1 at the time of the last access, 1/e (not 1/2) after `halfLifeHours`. */
function recencyOf(accessed: string, halfLifeHours: number, now: Date): number {
  return Math.exp(-ageInHours(accessed, now) / halfLifeHours);
}

/** 0 without accesses, 1 from 20 on. */
function frequencyOf(accesses: number): number {
  return Math.min(1, Math.log1p(accesses) / Math.log1p(fullFrequency));
}

/** 0 for a time to come. */
function ageInHours(time: string, now: Date): number {
  return Math.max(0, now.getTime() - Date.parse(time)) / hour;
}
