import type { AgentModel } from "../../models/agent-model.ts";
import type { ResultSummaryCache } from "./result-summary-cache.ts";

/** How an agent has large results summarised. */
export interface ResultSummariser {
  /** Successful results with more tokens are summarised. */
  readonly thresholdTokens: number;
  /** Milliseconds for the summaries of one context. */
  readonly timeoutMs: number;
  /** Null for the model that reads them. */
  readonly model: AgentModel | null;
  /** Of all runs of one compiled agent. */
  readonly cache: ResultSummaryCache;
}
