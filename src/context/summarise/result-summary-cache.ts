import { systemClock, type Clock } from "../../clock.ts";

/** What came of a request for a summary. */
export type SummaryOutcome =
  | { readonly outcome: "made"; readonly text: string; readonly model: string }
  | { readonly outcome: "failed" | "timeout"; readonly model: string };

/**
 * Summaries of results that were asked for before, by what they were asked for. A failure is kept too, so that a result
 * is rendered in the same way from step to step and a slow model is not waited for again, until it expires.
 */
export interface ResultSummaryCache {
  get(key: string): SummaryOutcome | undefined;
  set(key: string, outcome: SummaryOutcome): void;
  /** Requests that have not ended; what lasts of them is kept by then. */
  readonly underWay: Map<string, Promise<unknown>>;
}

export interface ResultSummaryCacheOptions {
  /** Entries; the one that was used longest ago is dropped. Default 500. */
  readonly maxEntries?: number;
  /** Characters of all summaries together. Default 1,000,000. */
  readonly maxCharacters?: number;
  /** Milliseconds after which a failure is forgotten and the model is asked again. Default 300,000. */
  readonly failureTtlMs?: number;
  readonly clock?: Pick<Clock, "monotonic">;
}

export function createResultSummaryCache({
  maxEntries = 500,
  maxCharacters = 1_000_000,
  failureTtlMs = 300_000,
  clock = systemClock,
}: ResultSummaryCacheOptions = {}): ResultSummaryCache {
  const entries = new Map<string, SummaryOutcome>();
  /** When each failure expires. */
  const expiries = new Map<string, number>();
  let characters = 0;
  const remove = (key: string) => {
    characters -= lengthOf(entries.get(key));
    entries.delete(key);
    expiries.delete(key);
  };
  return {
    underWay: new Map(),
    get(key) {
      const known = entries.get(key);
      if (known === undefined) return undefined;
      if (clock.monotonic() >= (expiries.get(key) ?? Infinity)) {
        remove(key);
        return undefined;
      }
      // A map is in the order in which its keys were set.
      entries.delete(key);
      entries.set(key, known);
      return known;
    },
    set(key, outcome) {
      remove(key);
      entries.set(key, outcome);
      if (outcome.outcome !== "made") expiries.set(key, clock.monotonic() + failureTtlMs);
      characters += lengthOf(outcome);
      for (const oldest of entries.keys()) {
        if (entries.size <= maxEntries && characters <= maxCharacters) return;
        remove(oldest);
      }
    },
  };
}

function lengthOf(outcome: SummaryOutcome | undefined): number {
  return outcome?.outcome === "made" ? outcome.text.length : 0;
}
