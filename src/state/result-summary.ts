/** What a model said of a tool result in place of its preview. */
export interface ResultSummary {
  readonly text: string;
  /** `provider:model` that said it. */
  readonly model: string;
}

/** By a hash of the result's content, of what it was summarised for and of the request of its turn. */
export type ResultSummaries = Readonly<Record<string, ResultSummary>>;

/** Each has at most 2,000 characters, and all of them are stored again with every new one. */
const mostKept = 200;

/** Merged by key; over 200 the ones that came first are dropped. A key that is there stays in its place. */
export function reduceResultSummaries(
  value: ResultSummaries,
  update: ResultSummaries,
): ResultSummaries {
  const entries = Object.entries({ ...value, ...update });
  return Object.fromEntries(entries.slice(-mostKept));
}
