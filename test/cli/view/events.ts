import type { AgentEvent, AgentEventBody } from "../../../src/state/events.ts";
import type { StepRecord, ToolResult } from "../../../src/state/step-record.ts";
import { noUsage } from "../../../src/state/usage.ts";

export function eventOf(body: AgentEventBody): AgentEvent {
  return { ...body, node: "reason", within: [], turn_number: 0, attempt_number: 0 };
}

export function stepOf(fields: Partial<StepRecord>): StepRecord {
  return {
    turn_number: 0,
    attempt_number: 0,
    step_index: 0,
    node: "reason",
    timestamp: "2026-01-01T00:00:00.000Z",
    mode: "fast",
    thought: "",
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
    model: "test:one",
    fallback: null,
    ...fields,
  };
}

export function resultOf(fields: Partial<ToolResult>): ToolResult {
  return {
    id: "call_1",
    name: "search",
    args: { query: "tides" },
    result: "High at noon.",
    error: null,
    outcome: "success",
    execution_time_ms: 12.3,
    insights: "",
    learning: "",
    relevance: "",
    ...fields,
  };
}
