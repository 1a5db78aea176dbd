import type { Utilization } from "./context-metadata.ts";

/** How earlier turns fall away: the oldest first, into a summary of a model's, or shortened before they are summarised. */
export type ShortTermStrategy = "fifo" | "summarize" | "hybrid";

/** What earlier turns may take of a context. */
export interface ShortTermPolicy {
  readonly strategy: ShortTermStrategy;
  /** Tokens. */
  readonly maxTokens: number;
}

/** How contexts are made, where a definition or a caller can say so. */
export interface ContextSettings {
  /** Default `medium`. */
  readonly utilization?: Utilization;
  /** Tokens that messages and tools may have together, instead of a share of the window. */
  readonly budget?: number;
  /**
   * Which results are whole while there is room, for the goal `planning`: those of the last step (the default), or of
   * the whole turn under way, where the reply may be the answer. For `synthesis` all are.
   */
  readonly whole?: "last_step" | "turn";
  /** Characters from which on a result is previewed where it need not be whole. Default 1,000. */
  readonly previewChars?: number;
  /** Default: earlier turns may take as much as there is. */
  readonly shortTerm?: ShortTermPolicy;
}
