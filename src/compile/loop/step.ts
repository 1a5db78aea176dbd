import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { plainResultText } from "../../context/step-messages.ts";
import type { StratagraphError } from "../../errors.ts";
import type { GraphState, GraphUpdate } from "../../state/channels.ts";
import type {
  CurrentStep,
  StepRecord,
  ToolPrediction,
  ToolResult,
} from "../../state/step-record.ts";
import { addUsage, noUsage } from "../../state/usage.ts";
import { refusedCall } from "../../tools/tool-result.ts";
import { truncateText } from "../../values/text.ts";
import { TurnTimeoutError } from "../errors.ts";
import type { NodeContext } from "./node.ts";

type StepPosition = Pick<
  CurrentStep,
  "turn_number" | "attempt_number" | "step_index" | "node" | "timestamp" | "approach"
>;

/** Returns a fast step with no content yet, which continues. */
export function emptyStep(place: StepPosition): CurrentStep {
  return {
    turn_number: place.turn_number,
    attempt_number: place.attempt_number,
    step_index: place.step_index,
    node: place.node,
    timestamp: place.timestamp,
    mode: "fast",
    thought: "",
    planning: "",
    reflection: "",
    approach: place.approach,
    next_action: "continue",
    tool_predictions: [],
    synthesis: "",
    progress: "",
    hypothesis: null,
    problem: "",
    usage: noUsage,
    model: "",
    fallback: null,
  };
}

/** Characters of a tool result shown in the conversation; the whole result is in the step record. */
const shownCharacters = 1000;

/** Returns the record of a step after its tool calls have completed. */
export function completeStep(
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

/** Returns the results of an interrupted step: completed calls keep theirs, every other call gets the error. */
export function interruptedResults(
  current: CurrentStep,
  ended: readonly ToolResult[],
  thrown: StratagraphError,
): readonly ToolResult[] {
  return current.tool_predictions.map(
    (call) => ended.find(({ id }) => id === call.id) ?? interruptedResult(call, thrown),
  );
}

function interruptedResult(
  { id, name, args }: ToolPrediction,
  thrown: StratagraphError,
): ToolResult {
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

/** Returns a result as a message for chat clients. */
export function toolMessage(result: ToolResult, id: string): ToolMessage {
  return new ToolMessage({
    id,
    tool_call_id: result.id,
    name: result.name,
    content: truncateText(plainResultText(result), shownCharacters),
    status: result.outcome === "success" ? "success" : "error",
  });
}

/** Completes the steps of branches that the attempt ended without. */
export function cancelPendingCalls(
  state: GraphState,
  run: NodeContext,
): Pick<GraphUpdate, "steps" | "messages"> {
  const open = state.branches.flatMap((branch) => branch.open);
  return open.length === 0 ? {} : cancelCalls(open, run, "the attempt ended before");
}

/** Completes steps whose calls will not run, so that they have records. */
export function cancelCalls(
  open: readonly CurrentStep[],
  run: NodeContext,
  why: string,
): { readonly steps: readonly StepRecord[]; readonly messages: readonly ToolMessage[] } {
  const steps = open.map((step): StepRecord => {
    const results = step.tool_predictions.map((call) => refusedCall(call, `Not run: ${why}.`));
    return { ...step, tool_results: results, concurrent_execution: false };
  });
  for (const step of steps) run.emit({ type: "step", step });
  const results = steps.flatMap((step) => step.tool_results);
  return { steps, messages: results.map((result) => toolMessage(result, run.loop.ids())) };
}

/**
 * Returns messages that replace those of calls with edited arguments, under the same message and call ids, so that
 * every result still has its call. Provider-specific data is left out because it has the old arguments.
 */
export function editedMessages(
  before: readonly ToolPrediction[],
  after: readonly ToolPrediction[],
  messages: readonly BaseMessage[],
): readonly AIMessage[] {
  const old = new Map(before.map(({ id, args }) => [id, args]));
  const edited = new Map(
    after.filter(({ id, args }) => old.get(id) !== args).map(({ id, args }) => [id, args]),
  );
  if (edited.size === 0) return [];
  const calling = messages.filter((message) => AIMessage.isInstance(message));
  const shown = [...edited.keys()].flatMap(
    (id) => calling.findLast(({ tool_calls = [] }) => tool_calls.some((c) => c.id === id)) ?? [],
  );
  return [...new Set(shown)].map((message) => {
    const { id, text, name, tool_calls = [], usage_metadata, response_metadata } = message;
    return new AIMessage({
      ...(id !== undefined && { id }),
      ...(name !== undefined && { name }),
      content: text,
      tool_calls: tool_calls.map((call) => {
        return { ...call, args: edited.get(call.id ?? "") ?? call.args };
      }),
      ...(usage_metadata !== undefined && { usage_metadata }),
      response_metadata,
    });
  });
}
