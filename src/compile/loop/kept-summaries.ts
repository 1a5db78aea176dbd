import type { ResultSummaries, ResultSummary } from "../../state/result-summary.ts";

/** Summaries of results that a thread keeps, and those that its node adds. */
export interface KeptSummaries {
  /** Whether nothing else is to be told, and nobody asked: the node is only looked at. */
  readonly only: boolean;
  get(key: string): ResultSummary | undefined;
  keep(key: string, summary: ResultSummary): void;
  /** What the thread does not keep yet; null where there is nothing. */
  added(): ResultSummaries | null;
}

export function keptSummaries(stored: ResultSummaries = {}, only = false): KeptSummaries {
  const added = new Map<string, ResultSummary>();
  return {
    only,
    get: (key) => (Object.hasOwn(stored, key) ? stored[key] : added.get(key)),
    keep: (key, summary) => void added.set(key, summary),
    added: () => (added.size === 0 ? null : Object.fromEntries(added)),
  };
}
