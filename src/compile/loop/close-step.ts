import { ToolMessage } from "@langchain/core/messages";
import { plainResultText } from "../../context/result-text.ts";
import type { StratagraphError } from "../../errors.ts";
import { cutText } from "../../state/cut-text.ts";
import type {
  CurrentStep,
  StepRecord,
  ToolPrediction,
  ToolResult,
} from "../../state/step-record.ts";
import { addUsage } from "../../state/usage.ts";
import { TurnTimeoutError } from "../errors.ts";

/** Characters of a tool result that the conversation shows; the whole result is in the step record. */
const shownCharacters = 1000;

/** The record of a step whose tools have ended. */
export function closeStep(
  current: CurrentStep,
  ran: { readonly results: readonly ToolResult[]; readonly concurrent: boolean },
): StepRecord {
  return {
    ...current,
    tool_results: ran.results,
    concurrent_execution: ran.concurrent,
    usage: addUsage(current.usage, { tool_calls: ran.results.length }),
  };
}

/** The results of a step that was cut off: what had ended as it ended, for every other call what ended it. */
export function cutOffResults(
  current: CurrentStep,
  ended: readonly ToolResult[],
  thrown: StratagraphError,
): readonly ToolResult[] {
  return current.tool_predictions.map(
    (call) => ended.find(({ id }) => id === call.id) ?? cutOff(call, thrown),
  );
}

function cutOff({ id, name, args }: ToolPrediction, thrown: StratagraphError): ToolResult {
  return {
    id,
    name,
    args,
    result: null,
    error: thrown.message,
    outcome: thrown instanceof TurnTimeoutError ? "timeout" : "error",
    execution_time_ms: 0,
    insights: "",
    learning: "",
    relevance: "",
  };
}

/** A result as chat clients see it. */
export function toolMessage(result: ToolResult, id: string): ToolMessage {
  return new ToolMessage({
    id,
    tool_call_id: result.id,
    name: result.name,
    content: cutText(plainResultText(result), shownCharacters),
    status: result.outcome === "success" ? "success" : "error",
  });
}
