/** A model's summary of a tool result, rendered instead of its preview. */
export interface ResultSummary {
  readonly text: string;
  /** `provider:model` that wrote it. */
  readonly model: string;
}

/** Keyed by a hash of the result's content, the purpose of the summary and the request of its turn. */
export type ResultSummaries = Readonly<Record<string, ResultSummary>>;

/** Maximum number of summaries. Each has at most 2,000 characters, and all are stored again with every new one. */
const mostKept = 200;

/** Merges by key. Over 200, the oldest are dropped. An existing key keeps its position. */
export function reduceResultSummaries(
  value: ResultSummaries,
  update: ResultSummaries,
): ResultSummaries {
  const entries = Object.entries({ ...value, ...update });
  return Object.fromEntries(entries.slice(-mostKept));
}

/**
 * A model's summary of the beginning of a thread, which models read instead of it. The covered records and messages
 * stay stored.
 */
export interface RunningSummary {
  readonly text: string;
  /** It covers the turns 0 to `turns` - 1, with these numbers of step records and chat messages. */
  readonly covers: { readonly turns: number; readonly steps: number; readonly messages: number };
  /** `provider:model` that wrote it. */
  readonly model: string;
  /** ISO 8601. */
  readonly at: string;
}
