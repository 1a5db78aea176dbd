import type { RunProgress } from "../../../src/experiment/run-progress.ts";
import { noUsage, type Usage } from "../../../src/state/usage.ts";

/** How far a run is, of which nothing has been said but this. */
export function runOf(fields: Partial<RunProgress> = {}): RunProgress {
  return {
    run_id: "drift",
    status: "running",
    cycles_done: 0,
    cycle_count: 10,
    cycles_before: 0,
    usage: noUsage,
    elapsed_ms: 0,
    remaining_ms: null,
    doing: null,
    failure: null,
    ...fields,
  };
}

export function usageOf(tokens: number, cost: number | null = 0): Usage {
  const tokens_out = Math.floor(tokens / 4);
  return {
    ...noUsage,
    tokens_in: tokens - tokens_out,
    tokens_out,
    llm_calls: 1,
    cost_usd: cost,
  };
}
