import type { TokenCounter } from "./tokens.ts";

/** What a context has to know of the model that reads it. */
export interface ModelProfile {
  /** `provider:model`. */
  readonly ref: string;
  /** Tokens of its window: what it reads and what it answers together. */
  readonly window: number;
  /** Tokens that its longest reply has, at most what `llm_config.max_tokens` allows. */
  readonly maxOutput: number;
  /** Counts by its own tokenizer, or by the nearest one that is known. */
  readonly count: TokenCounter;
  /** What is assumed of it, in sentences; empty where window and tokenizer are its own. */
  readonly notes: readonly string[];
}
