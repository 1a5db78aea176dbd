import type { MemoryWeights } from "../memory.ts";

/** What {@link rankEntries} knows of the entries. All arrays are by the entry's number; -1 stands for none. */
export interface RankedEntries {
  readonly count: number;
  /** The entry before and after in its session. */
  readonly previous: Int32Array;
  readonly next: Int32Array;
  readonly session: Int32Array;
  /** {@link isQuestion} and {@link asksQuestion}. */
  readonly flags: Uint8Array;
  readonly importance: Float32Array;
}

/** The text ends with a question: it seldom holds an answer. */
export const isQuestion = 1;
/** The text has a question, which the next entry is likely to answer. */
export const asksQuestion = 2;

/** What the query has found. */
export interface RankSignals {
  /** BM25 of each entry; 0 for those that do not match or may not be seen. */
  readonly keyword: Float32Array;
  /** BM25 of an entry of average length that has each term of the query once. */
  readonly idealKeyword: number;
  /** BM25 of each session. */
  readonly session: Float32Array;
  /** Cosines of the nearest entries, best first; null without an encoder. */
  readonly nearest: readonly { readonly entry: number; readonly similarity: number }[] | null;
  /** The share of the query's names that an entry is from or mentions, for entries with one. */
  readonly named: ReadonlyMap<number, number>;
  /** From 0 to 1. */
  readonly recency: (entry: number) => number;
  readonly weights: MemoryWeights;
}

/** The parts of a score, each from 0 to 1. */
export interface RankParts {
  readonly score: number;
  readonly keyword: number;
  readonly meaning: number | null;
  readonly neighbours: number;
  readonly session: number;
  readonly importance: number;
  readonly recency: number;
}

export interface Ranking {
  /** Entries that match, best first; of equals the later added first. */
  best(limit: number, isWanted: (entry: number) => boolean): readonly number[];
  parts(entry: number): RankParts;
}

/** Weights of the entries before and after, the adjacent ones first. */
const previousWeights = [0.4, 0.2, 0.1, 0.05];
const nextWeights = [0.3, 0.15, 0.08, 0.04];
/** On top for the entry before, where it asks a question. */
const answerWeight = 0.2;
const sessionWeight = 0.25;
const nameWeight = 0.2;
/** The share that an entry which is a question loses. */
const questionLoss = 0.2;
/** Shares of words and of meaning. */
const keywordShare = 0.5;

const allNeighbours = [...previousWeights, ...nextWeights, answerWeight].reduce((a, b) => a + b);

/**
 * Combines the scores of words, meaning, neighbours, session and names. Words and meaning are each divided by their best
 * candidate, added, and spread to the entries next to them (score fusion). The sum orders the candidates of one query.
 *
 * To compare queries, the sum is multiplied by the absolute quality of the best match: BM25 as a share of what an ideal
 * entry would have, and the cosine. The score is 1 - e^(-1.5 x) of that: 0 without a match, 0.78 for an entry
 * on its own that has all words of the query, and near 1 only where its session says the same.
 */
export function rankEntries(entries: RankedEntries, signals: RankSignals): Ranking {
  const { count, previous, next, flags } = entries;
  const { keyword, nearest, weights } = signals;
  const bestKeyword = maximum(keyword);
  const bestSession = maximum(signals.session);
  const meaning = nearest === null ? null : meaningOf(nearest);
  const share = meaning === null ? 1 : keywordShare;

  const own = new Float32Array(count);
  if (bestKeyword > 0) {
    for (let entry = 0; entry < count; entry += 1) {
      own[entry] = (share * (keyword[entry] ?? 0)) / bestKeyword;
    }
  }
  for (const [entry, value] of meaning ?? []) own[entry] = (own[entry] ?? 0) + (1 - share) * value;

  const around = new Float32Array(count);
  for (let entry = 0; entry < count; entry += 1) {
    const value = own[entry] ?? 0;
    if (value === 0) continue;
    let at = entry;
    for (const [distance, weight] of previousWeights.entries()) {
      at = next[at] ?? -1;
      if (at === -1) break;
      const isAnswer = distance === 0 && ((flags[entry] ?? 0) & asksQuestion) !== 0;
      around[at] = (around[at] ?? 0) + value * (weight + (isAnswer ? answerWeight : 0));
    }
    at = entry;
    for (const weight of nextWeights) {
      at = previous[at] ?? -1;
      if (at === -1) break;
      around[at] = (around[at] ?? 0) + value * weight;
    }
  }

  const sessionOf = (entry: number) => {
    const session = entries.session[entry] ?? -1;
    return session === -1 || bestSession === 0 ? 0 : (signals.session[session] ?? 0) / bestSession;
  };
  const words = signals.idealKeyword > 0 ? Math.min(1, bestKeyword / signals.idealKeyword) : 0;
  const closest = Math.max(0, Math.min(1, nearest?.[0]?.similarity ?? 0));
  const quality = share * words + (1 - share) * closest;

  const steepness = 1.5 * (bestKeyword > 0 || meaning !== null ? quality : 0.2);
  const sumOf = (entry: number): number => {
    const context = (own[entry] ?? 0) + (around[entry] ?? 0);
    const name = signals.named.get(entry) ?? 0;
    if (context === 0 && name === 0) return 0;
    const question = ((flags[entry] ?? 0) & isQuestion) !== 0 ? 1 - questionLoss : 1;
    return (context + sessionWeight * sessionOf(entry)) * question + nameWeight * name;
  };
  const scoreOf = (entry: number, sum = sumOf(entry)): number => {
    if (sum === 0) return 0;
    const extra =
      weights.importance * (entries.importance[entry] ?? 0) +
      weights.recency * signals.recency(entry);
    const most = 1 + weights.importance + weights.recency;
    return ((1 - Math.exp(-steepness * sum)) * (1 + extra)) / most;
  };

  return {
    best(limit, isWanted) {
      const found: { readonly entry: number; readonly score: number }[] = [];
      // Importance and recency only lower a score, so a smaller sum than that of the last score found cannot follow.
      let [least, leastSum] = [0, 0];
      for (let entry = 0; entry < count; entry += 1) {
        const sum = sumOf(entry);
        if (sum <= 0 || sum < leastSum) continue;
        const score = scoreOf(entry, sum);
        if (score <= 0 || score < least || !isWanted(entry)) continue;
        let at = found.length;
        while (at > 0 && (found[at - 1]?.score ?? 0) <= score) at -= 1;
        found.splice(at, 0, { entry, score });
        if (found.length > limit) found.pop();
        if (found.length < limit) continue;
        least = found.at(-1)?.score ?? 0;
        leastSum = (-Math.log(1 - least) / steepness) * (1 - 1e-6);
      }
      return found.map(({ entry }) => entry);
    },
    parts: (entry) => ({
      score: scoreOf(entry),
      keyword: bestKeyword > 0 ? (keyword[entry] ?? 0) / bestKeyword : 0,
      meaning: meaning === null ? null : (meaning.get(entry) ?? 0),
      neighbours: Math.min(1, (around[entry] ?? 0) / allNeighbours),
      session: sessionOf(entry),
      importance: entries.importance[entry] ?? 0,
      recency: signals.recency(entry),
    }),
  };
}

/** Cosines from 0 for the last of the nearest to 1 for the first. */
function meaningOf(
  nearest: readonly { readonly entry: number; readonly similarity: number }[],
): Map<number, number> {
  const best = nearest[0]?.similarity ?? 0;
  const least = nearest.length > 1 ? (nearest.at(-1)?.similarity ?? 0) : 0;
  const range = best - least;
  return new Map(
    nearest.map(({ entry, similarity }) => [
      entry,
      range > 0 ? Math.max(0, similarity - least) / range : 1,
    ]),
  );
}

function maximum(values: Float32Array): number {
  let best = 0;
  for (const value of values) if (value > best) best = value;
  return best;
}
