import type { StepRecord, ToolResult } from "../../src/state/step-record.ts";
import { noUsage } from "../../src/state/usage.ts";

/** A successful call of `search` that found nothing worth noting, changed by `over`. */
export function toolResult(over: Partial<ToolResult> = {}): ToolResult {
  return {
    id: "call-1",
    name: "search",
    args: { query: "python tutorial" },
    result: "3 hits",
    error: null,
    outcome: "success",
    execution_time_ms: 12,
    insights: "",
    learning: "",
    relevance: "",
    ...over,
  };
}

/** A fast step that used the tools of `tool_results`, changed by `over`. */
export function stepRecord(over: Partial<StepRecord> = {}): StepRecord {
  return {
    turn_number: 0,
    attempt_number: 0,
    step_index: 0,
    node: "reason",
    timestamp: "2026-01-02T03:04:05.678Z",
    mode: "fast",
    thought: "look it up",
    planning: "",
    reflection: "",
    approach: "",
    next_action: "use_tools",
    tool_predictions: [],
    tool_results: [],
    concurrent_execution: false,
    synthesis: "",
    progress: "",
    hypothesis: null,
    problem: "",
    usage: noUsage,
    model: "test:model",
    fallback: null,
    ...over,
  };
}
