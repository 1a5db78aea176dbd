/** What came of a request for a summary. */
export type SummaryOutcome =
  | { readonly outcome: "made"; readonly text: string; readonly model: string }
  | { readonly outcome: "failed" | "timeout"; readonly model: string };

/**
 * Summaries of results that were asked for before, by what they were asked for. A failure is kept too, so that a result
 * is told in the same way from step to step and a model that is slow is not waited for again.
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
}

export function createResultSummaryCache({
  maxEntries = 500,
  maxCharacters = 1_000_000,
}: ResultSummaryCacheOptions = {}): ResultSummaryCache {
  const entries = new Map<string, SummaryOutcome>();
  let characters = 0;
  const remove = (key: string) => {
    characters -= lengthOf(entries.get(key));
    entries.delete(key);
  };
  return {
    underWay: new Map(),
    get(key) {
      const known = entries.get(key);
      if (known === undefined) return undefined;
      // A map is in the order in which its keys were set.
      entries.delete(key);
      entries.set(key, known);
      return known;
    },
    set(key, outcome) {
      remove(key);
      entries.set(key, outcome);
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
