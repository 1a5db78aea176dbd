import { jsonHead } from "../values/bounded-json.ts";
import { truncationNote, truncateText, headOf } from "../values/text.ts";
import {
  type ExecutionMode,
  pairedCalls,
  type Progress,
  type Relevance,
  type StepRecord,
  type ToolOutcome,
  type ToolResult,
  withObservations,
} from "./step-record.ts";

/** Characters of a tool result stored in an action record. */
const shownCharacters = 1000;

/** How much of a non-text result is rendered to compute the size of the cut. */
const countedCharacters = 64 * shownCharacters;

export interface ActionToolCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  /**
   * The result as text (JSON unless it is a string), truncated with a marker after 1,000 characters. For a failed call:
   * its error message, followed on a new line by any result it returned.
   */
  readonly result: string;
  readonly outcome: ToolOutcome;
  readonly execution_time_ms: number;
  readonly insights: string;
  readonly learning: string;
  readonly relevance: Relevance | "";
}

/** The compact form of a step, for debugging and export. Derived from its record, never stored. */
export interface ActionRecord {
  /** The step's index in its turn. */
  readonly iteration: number;
  /** ISO 8601, when the step began. */
  readonly timestamp: string;
  readonly mode: ExecutionMode;
  readonly thinking: string;
  readonly planning: string;
  readonly reflection: string;
  readonly approach: string;
  readonly tool_calls: readonly ActionToolCall[];
  readonly synthesis: string;
  readonly progress: Progress | "";
  readonly hypothesis: { readonly belief: string; readonly test: string } | null;
}

/**
 * Returns the record of a single step; see {@link toActionRecords}. The cost does not grow with the size of the
 * results.
 */
export function toActionRecord(step: StepRecord): ActionRecord {
  return {
    iteration: step.step_index,
    timestamp: step.timestamp,
    mode: step.mode,
    thinking: step.thought,
    planning: step.planning,
    reflection: step.reflection,
    approach: step.approach,
    tool_calls: pairedCalls(step).map(toActionToolCall),
    synthesis: step.synthesis,
    progress: step.progress,
    hypothesis: step.hypothesis,
  };
}

/** Returns the records of steps in order, each with what later steps noted on its results. */
export function toActionRecords(steps: readonly StepRecord[]): ActionRecord[] {
  return withObservations(steps).map(toActionRecord);
}

function toActionToolCall(call: ToolResult): ActionToolCall {
  return {
    name: call.name,
    args: call.args,
    result: shownResult(call),
    outcome: call.outcome,
    execution_time_ms: call.execution_time_ms,
    insights: call.insights,
    learning: call.learning,
    relevance: call.relevance,
  };
}

function shownResult({ outcome, error, result }: ToolResult): string {
  const isMissing = result === null || result === undefined;
  if (outcome === "success" || error === null || error === "") {
    return isMissing && outcome !== "success" ? "" : cutResult("", result);
  }
  return isMissing ? truncateText(error, shownCharacters) : cutResult(`${error}\n`, result);
}

function cutResult(before: string, result: unknown): string {
  if (typeof result === "string") return truncateText(before + result, shownCharacters);
  const json = jsonHead(result, countedCharacters);
  const text = before + json.text;
  if (json.whole) return truncateText(text, shownCharacters);
  const head = headOf(text, shownCharacters);
  return head + truncationNote(text.length - head.length, true);
}
