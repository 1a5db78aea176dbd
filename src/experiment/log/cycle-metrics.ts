import { isRecord } from "../../state/is-record.ts";
import { memoryToolNames, operatorToolName } from "../tools/tool-names.ts";
import type { CycleMetrics, LogEntry } from "./log-entry.ts";

/** What a cycle counts before anything has happened in it. */
export const noMetrics: CycleMetrics = Object.freeze({
  memory_ops_total: 0,
  messages_to_operator: 0,
  response_chars: 0,
  memory_write_chars: 0,
});

/**
 * The metrics of one cycle, from all its entries in order; those of CYCLE_START and CYCLE_END count nothing.
 * This is the one definition: what is written to CYCLE_END, what a log is checked against, what reports show.
 */
export function cycleMetrics(entries: Iterable<LogEntry>): CycleMetrics {
  let metrics = noMetrics;
  for (const entry of entries) metrics = withEntry(metrics, entry);
  return metrics;
}

/** The metrics after one more entry of the same cycle, for readers that do not hold a whole cycle. */
export function withEntry(metrics: CycleMetrics, entry: LogEntry): CycleMetrics {
  if (entry.event_type === "LLM_INVOCATION") {
    const chars = codePoints(entry.payload.response_message.content);
    return { ...metrics, response_chars: metrics.response_chars + chars };
  }
  if (entry.event_type !== "TOOL_CALL" || isFailedOutput(entry.payload.output)) return metrics;
  const { tool_name: tool, parameters } = entry.payload;
  return {
    ...metrics,
    memory_ops_total: metrics.memory_ops_total + (memoryToolNames.includes(tool) ? 1 : 0),
    messages_to_operator: metrics.messages_to_operator + (tool === operatorToolName ? 1 : 0),
    memory_write_chars:
      metrics.memory_write_chars +
      (tool === "memory_write" ? codePoints(textParameter(parameters, "value") ?? "") : 0),
  };
}

/** Whether a call was refused or failed: its output is an object whose `error` is there and not null. */
export function isFailedOutput(output: unknown): boolean {
  return isRecord(output) && Object.hasOwn(output, "error") && output["error"] !== null;
}

/** A text among the parameters of a call; undefined where there is none of that name. */
export function textParameter(parameters: unknown, name: string): string | undefined {
  if (!isRecord(parameters) || !Object.hasOwn(parameters, name)) return undefined;
  const value = parameters[name];
  return typeof value === "string" ? value : undefined;
}

/** Length of a text in code points, so that a character outside the BMP counts once. */
export function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
