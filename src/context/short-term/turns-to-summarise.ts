import type { ShortTermPolicy } from "../context-settings.ts";

/** What earlier turns may still take of `maxTokens` when they were over it: a large move now is none for a while. */
const summarisedDownTo = 0.6;

/**
 * How many of the oldest turns a new summary has to cover, or null while none has to be made. What is not covered then
 * has at most 60 % of `maxTokens`, unless the turn before the one under way alone has more: that one is always told.
 *
 * @param sizes tokens of each turn before the one under way, as it would be told: in its shortest form under `hybrid`,
 * where shortening comes first, and whole under `summarize`
 * @param covered turns that the present summary covers
 */
export function turnsToSummarise(history: {
  readonly sizes: readonly number[];
  readonly covered: number;
  readonly policy: ShortTermPolicy;
}): number | null {
  const { sizes, covered, policy } = history;
  if (policy.strategy === "fifo") return null;
  let rest = sizes.slice(covered).reduce((sum, size) => sum + size, 0);
  if (rest <= policy.maxTokens) return null;
  const most = sizes.length - 1;
  let turns = covered;
  while (turns < most && rest > summarisedDownTo * policy.maxTokens) {
    rest -= sizes[turns] ?? 0;
    turns += 1;
  }
  return turns > covered ? turns : null;
}
