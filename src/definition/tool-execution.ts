import type { ToolExecution, ToolRetry } from "./tool.ts";

/** All of it may be left out. */
export type ToolExecutionOptions = Partial<Omit<ToolExecution, "retry">> & {
  readonly retry?: Partial<ToolRetry>;
};

/** Limits of a call where nothing else is said. */
export const defaultExecution: ToolExecution = Object.freeze({
  timeout_ms: 30_000,
  retry: Object.freeze({ max_retries: 0, backoff_ms: 500 }),
  sandbox: false,
  idempotent: false,
  repeatable: false,
  max_result_bytes: 262_144,
});

/** What a tool is run with where its options leave it open. */
export function toolExecution(options: ToolExecutionOptions = {}): ToolExecution {
  const { retry, ...given } = options;
  const own = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return Object.freeze({
    ...defaultExecution,
    ...own,
    retry: Object.freeze({
      max_retries: retry?.max_retries ?? defaultExecution.retry.max_retries,
      backoff_ms: retry?.backoff_ms ?? defaultExecution.retry.backoff_ms,
    }),
  });
}
