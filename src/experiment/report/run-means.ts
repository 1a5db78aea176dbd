import { noMetrics } from "../log/cycle-metrics.ts";
import type { CycleMetrics } from "../log/log-entry.ts";
import type { RunSummary } from "./run-summary.ts";

/** The metrics in the order in which reports show them. */
export const metricNames = Object.keys(noMetrics) as readonly (keyof CycleMetrics)[];

/** Mean of each metric over the cycles of a run; null where none has ended. */
export function meanMetrics({ cycles }: Pick<RunSummary, "cycles">): CycleMetrics | null {
  if (cycles.length === 0) return null;
  const mean = (name: keyof CycleMetrics) =>
    cycles.reduce((sum, cycle) => sum + cycle[name], 0) / cycles.length;
  return {
    memory_ops_total: mean("memory_ops_total"),
    messages_to_operator: mean("messages_to_operator"),
    response_chars: mean("response_chars"),
    memory_write_chars: mean("memory_write_chars"),
  };
}
