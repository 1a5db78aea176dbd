import { createRequire } from "node:module";
import type OpenAIRanks from "js-tiktoken/ranks/o200k_base";

export type EncodingName = "o200k_base" | "cl100k_base";

const require = createRequire(import.meta.url);

/** UTF-16 units of all pieces whose counts are cached; with the map they take up to ten megabytes or so. */
const mostCached = 1_000_000;

/**
 * Loads one of OpenAI's byte pair encodings and returns a function that counts the tokens of a text as tiktoken does. The
 * text of a special token is counted as text. Takes quadratic time in the longest piece without a boundary.
 *
 * The ranks are those of js-tiktoken, which LangChain installs; its encoder takes five times as long to load and to count.
 */
export function loadEncoding(name: EncodingName): (text: string) => number {
  const data = require(`js-tiktoken/ranks/${name}`) as typeof OpenAIRanks;
  const ranks = readRanks(data.bpe_ranks);
  const pieces = new RegExp(data.pat_str, "gu");
  const cache = new Map<string, number>();
  let cachedLength = 0;
  const countPiece = (piece: string): number => {
    const cached = cache.get(piece);
    if (cached !== undefined) return cached;
    const bytes = Buffer.from(piece);
    const count = ranks.has(bytes.toString("base64")) ? 1 : mergePairs(bytes, ranks);
    cachedLength += piece.length;
    if (cachedLength > mostCached) {
      cache.clear();
      cachedLength = 0;
    }
    // A copy: the piece itself may keep the whole text in memory.
    cache.set(bytes.toString(), count);
    return count;
  };
  return (text) => {
    let count = 0;
    for (const piece of text.match(pieces) ?? []) count += countPiece(piece);
    return count;
  };
}

/** Ranks by token; a token's bytes stay in base64, since decoding 200,000 of them takes longer than reading the rest. */
type Ranks = ReadonlyMap<string, number>;

/** @param lines each of them a sign, the rank of its first token, and tokens of rising rank, separated by spaces */
function readRanks(lines: string): Ranks {
  const ranks = new Map<string, number>();
  for (const line of lines.split("\n")) {
    const [, first, ...tokens] = line.split(" ");
    let rank = Number(first);
    for (const token of tokens) {
      ranks.set(token, rank);
      rank += 1;
    }
  }
  return ranks;
}

/** Merges the adjacent parts of lowest rank, the first of several, until none is a token; returns how many parts are left. */
function mergePairs(bytes: Buffer, ranks: Ranks): number {
  let parts = bytes.length;
  /** Where each part begins, and the end of the last. */
  const starts = Int32Array.from({ length: parts + 1 }, (_, at) => at);
  /** Rank of a part together with the next. */
  const rankAt = (at: number) =>
    ranks.get(bytes.toString("base64", starts[at], starts[at + 2])) ?? none;
  const pairs = Int32Array.from({ length: parts - 1 }, (_, at) => rankAt(at));
  for (;;) {
    let lowest = none;
    let best = -1;
    for (let at = 0; at < parts - 1; at += 1) {
      const rank = pairs[at]!;
      if (rank >= lowest) continue;
      lowest = rank;
      best = at;
    }
    if (best < 0) return parts;
    starts.copyWithin(best + 1, best + 2, parts + 1);
    pairs.copyWithin(best, best + 1, parts - 1);
    parts -= 1;
    if (best < parts - 1) pairs[best] = rankAt(best);
    if (best > 0) pairs[best - 1] = rankAt(best - 1);
  }
}

/** Instead of a rank: two parts are no token together. */
const none = 2 ** 31 - 1;
