import { inspect } from "node:util";
import { StratagraphError } from "../errors.ts";
import { jsonHead } from "../values/bounded-json.ts";
import { canonicalJson } from "../values/json.ts";
import { truncationNote, truncateText, headOf } from "../values/text.ts";
import {
  callSignature,
  type ExecutionMode,
  inOneLine,
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

interface ActionToolCall {
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
    tool_calls: step.tool_results.map(toActionToolCall),
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

export interface CompressOptions {
  /** Successful calls below this relevance are left out. Default: `medium`. */
  readonly relevance?: Relevance;
}

const ranks: Readonly<Record<Relevance, number>> = { low: 0, medium: 1, high: 2 };

/** `compressActions` was given an unknown relevance. */
export class InvalidRelevanceError extends StratagraphError {
  readonly code = "invalid_relevance";

  constructor(readonly given: unknown) {
    const shown = inspect(given, { depth: 0, maxStringLength: 80 });
    super(`The relevance of compressActions must be high, medium or low; got ${shown}.`);
  }
}

/**
 * Renders actions as lines that a model reads instead of the history, in the order of the calls. Successful calls below
 * the relevance are left out first; calls with an empty or unknown relevance are included.
 *
 * - a successful call with an insight: the insight itself
 * - one without: `search(query="python tutorial") → success`
 * - a call that failed is always included, with its message: `read(path="a.txt") → failure: no such file`
 *
 * Calls with equal names, arguments, outcomes and texts are merged into one line at the position of the first, with
 * their count: `… → success (×3)`. A line contains no line break. Arguments may be any values, such as circular ones.
 *
 * @throws InvalidRelevanceError
 */
export function compressActions(
  actions: readonly ActionRecord[],
  options: CompressOptions = {},
): string[] {
  const { relevance = "medium" } = options;
  if (!Object.hasOwn(ranks, relevance)) throw new InvalidRelevanceError(relevance);
  const least = ranks[relevance];
  const counts = new Map<string, { readonly line: string; count: number }>();
  for (const { tool_calls: calls } of actions) {
    for (const call of calls) {
      const told = tell(call, least);
      if (told === null) continue;
      const line = told.isWhole ? told.text : `${callSignature(call)} → ${told.text}`;
      const key = keyOf([call.name, call.args, call.outcome, told]);
      const known = counts.get(key);
      if (known === undefined) counts.set(key, { line, count: 1 });
      else known.count += 1;
    }
  }
  return [...counts.values()].map(({ line, count }) =>
    count === 1 ? line : `${line} (×${count})`,
  );
}

/** Returns a call's line, or the text after its signature. Null if it has no line. */
function tell(call: ActionToolCall, leastRank: number): { text: string; isWhole: boolean } | null {
  const insight = inOneLine(call.insights);
  const rank: number | undefined = Object.hasOwn(ranks, call.relevance)
    ? ranks[call.relevance as Relevance]
    : undefined;
  const passes = rank === undefined || rank >= leastRank;
  if (call.outcome === "success") {
    if (!passes) return null;
    return insight === "" ? { text: "success", isWhole: false } : { text: insight, isWhole: true };
  }
  const message = inOneLine(call.result);
  const learned = insight !== "" && passes ? ` [${insight}]` : "";
  return { text: `${call.outcome}${message && `: ${message}`}${learned}`, isWhole: false };
}

/** Returns equal strings for equal values, whatever their type. */
function keyOf(value: unknown): string {
  try {
    return canonicalJson(value);
  } catch {
    // Circular, nested too deep, or with big integers.
    const whole = { depth: Infinity, maxArrayLength: Infinity, maxStringLength: Infinity };
    return inspect(value, { ...whole, sorted: true, customInspect: false });
  }
}
