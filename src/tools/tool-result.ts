import type { ToolOutcome, ToolPrediction, ToolResult } from "../state/step-record.ts";

/** The part of a prediction that is run. */
export type ToolCall = Pick<ToolPrediction, "id" | "name" | "args">;

/** How a call ended. `error` is null on success. */
export interface CallEnd {
  readonly outcome: ToolOutcome;
  readonly result: unknown;
  readonly error: string | null;
}

/** The record of a call; the fields that the reasoning fills in later are empty. */
export function toolResult(call: ToolCall, end: CallEnd, elapsedMs: number): ToolResult {
  return {
    id: call.id,
    name: call.name,
    args: call.args,
    result: end.result,
    error: end.error,
    outcome: end.outcome,
    execution_time_ms: Math.round(elapsedMs * 1000) / 1000,
    insights: "",
    learning: "",
    relevance: "",
  };
}

/** The record of a call that was not made. */
export function refusedCall(call: ToolCall, error: string): ToolResult {
  return toolResult(call, { outcome: "error", result: null, error }, 0);
}
