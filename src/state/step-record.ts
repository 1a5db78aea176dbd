import { isDeepStrictEqual } from "node:util";
import { jsonHead } from "../values/bounded-json.ts";
import { isRecord } from "../values/json.ts";
import { truncationNote, headOf } from "../values/text.ts";
import type { FinishReason, ModelCallRecord, Reasoning } from "./usage.ts";
import type { Usage } from "./usage.ts";

export type ExecutionMode = "fast" | "deep";
export type NextAction = "continue" | "use_tools" | "ask_human" | "finish";

/** `success`: expected output. `failure`: ran, but failed (file not found). `error`: broke (bad arguments, a throw). */
export type ToolOutcome = "success" | "failure" | "error" | "timeout";
export type Relevance = "high" | "medium" | "low";
export type Progress = "advancing" | "stuck" | "regressing";

/** A tool call that a reasoning step asked for. `id` is unique in the turn. */
export interface ToolPrediction {
  id: string;
  name: string;
  args: Record<string, unknown>;
  reason: string;
  /** Why the call cannot run (unreadable arguments); left out if it can. */
  problem?: string;
  /** The arguments as the model wrote them, if they were no valid JSON and were mended; left out otherwise. */
  mended_from?: string;
}

/**
 * How a call was resolved when its node ran again after a crash or a cancellation. `recorded`: it had completed, and
 * its recorded result is used. `repeated`: it had started, and was called again because its tool is idempotent.
 * `unknown`: it had started, its outcome is unknown, and it was not called again.
 */
export type Recovered = "recorded" | "repeated" | "unknown";

/** The result of one tool call. `result` is whole, up to the tool's `max_result_bytes`; `error` is null on success. */
export interface ToolResult {
  id: string;
  name: string;
  args: Record<string, unknown>;
  result: unknown;
  error: string | null;
  outcome: ToolOutcome;
  execution_time_ms: number;
  insights: string;
  learning: string;
  relevance: Relevance | "";
  /** Left out for a call that ran once, without interruption. */
  recovered?: Recovered;
  /** Attempts after the first; left out if there were none. */
  retries?: number;
  /** Answers of people that its handler requested with `interrupt()`; left out if there were none. */
  asked?: number;
  /** A guardrail's warning about the result, for its readers; left out if there is none. */
  warning?: string;
}

/** A step's note on the result of an earlier call of its turn; fields are empty if the step said nothing. */
export interface Observation {
  /** The id of the call. */
  id: string;
  /** The important facts in the result. */
  insights: string;
  /** What to do differently next time. */
  learning: string;
  relevance: Relevance | "";
}

/** A selection among many tools. */
export interface ToolSelectionRecord {
  /** Number of candidates. */
  readonly considered: number;
  /** Best first; each part of the score is from 0 to 1. */
  readonly selected: readonly {
    readonly name: string;
    readonly score: number;
    readonly semantic: number;
    readonly keyword: number;
    readonly success: number;
    readonly recency: number;
  }[];
}

/**
 * One iteration of an agent, whole. Appended once, never edited; every other view of a run is derived from step
 * records.
 */
export interface StepRecord {
  /** 0-based. */
  turn_number: number;
  /** 0-based. */
  attempt_number: number;
  /** 0-based over the turn, attempts included. */
  step_index: number;
  /** The graph node that made it. */
  node: string;
  /** ISO 8601, when the step began. */
  timestamp: string;
  mode: ExecutionMode;
  thought: string;
  /** Deep mode; empty in fast mode, as is `reflection`. */
  planning: string;
  reflection: string;
  /** The strategy that spans steps; carried over until changed. */
  approach: string;
  next_action: NextAction;
  tool_predictions: readonly ToolPrediction[];
  /** In the order of `tool_predictions`. */
  tool_results: readonly ToolResult[];
  concurrent_execution: boolean;
  /** Left out if there are none. Read them through `withObservations`, which attaches them to their results. */
  observations?: readonly Observation[];
  /** How the offered tools were selected; left out if all were offered. */
  tool_selection?: ToolSelectionRecord;
  /** How the step advances the goal. */
  synthesis: string;
  progress: Progress | "";
  hypothesis: { belief: string; test: string } | null;
  /** What was wrong with the model's output, as reported back to it; empty if nothing was. */
  problem: string;
  usage: Usage;
  /** `provider:model` that answered. */
  model: string;
  /** How the reply ended; left out if it is whole. */
  finish_reason?: FinishReason;
  /** What the model thought; left out if it shows nothing. Not part of `thought` or of an answer. */
  reasoning?: Reasoning;
  /** The step's requests to models, failed ones included; left out by earlier versions. */
  model_calls?: readonly ModelCallRecord[];
  /** Set if the fallback model answered instead of the chosen one. */
  fallback: { from: string; reason: string } | null;
}

/** Returns whether a stored value has the shape of a step record; edited states may hold others. */
export function isStepRecord(value: unknown): value is StepRecord {
  return (
    isRecord(value) &&
    typeof value["step_index"] === "number" &&
    Array.isArray(value["tool_results"])
  );
}

/** The step in progress, before its tool calls have completed. Null between steps. */
export type CurrentStep = Omit<StepRecord, "tool_results" | "concurrent_execution">;

/**
 * Returns the steps with later observations attached to their results; stored records never change. If two observations
 * concern the same result, the later one wins, field by field. Steps without observations keep their identity, and so
 * does a list without any.
 */
export function withObservations(steps: readonly StepRecord[]): readonly StepRecord[] {
  const noted = new Map<string, Observation>();
  for (const { turn_number, observations = [] } of steps) {
    for (const one of observations) {
      const key = keyOf(turn_number, one.id);
      noted.set(key, laid(noted.get(key) ?? one, one));
    }
  }
  if (noted.size === 0) return steps;
  return steps.map((step) => {
    const results = step.tool_results.map((result) => {
      const observation = noted.get(keyOf(step.turn_number, result.id));
      return observation === undefined ? result : withObservation(result, observation);
    });
    const isChanged = results.some((result, index) => result !== step.tool_results[index]);
    return isChanged ? { ...step, tool_results: results } : step;
  });
}

/** Returns a key for a call; call ids are unique only within their turn. */
function keyOf(turn: number, id: string): string {
  return `${turn}:${id}`;
}

/** Returns a result with an observation attached; empty fields of the observation change nothing. */
export function withObservation(result: ToolResult, observation: Observation): ToolResult {
  return laid(result, observation);
}

type Noted = Omit<Observation, "id">;

function laid<Under extends Noted>(under: Under, over: Noted): Under {
  return {
    ...under,
    insights: over.insights || under.insights,
    learning: over.learning || under.learning,
    relevance: over.relevance || under.relevance,
  };
}

/** Returns the results of a step in the order of its calls. A call without a recorded result counts as failed. */
export function pairedCalls(step: StepRecord): readonly ToolResult[] {
  const { tool_predictions: asked, tool_results: results } = step;
  if (asked.length === results.length && asked.every(({ id }, at) => results[at]?.id === id)) {
    return results;
  }
  const byId = new Map(results.map((result) => [result.id, result]));
  const paired = asked.map(({ id, name, args }): ToolResult => {
    const known = byId.get(id);
    byId.delete(id);
    return known ?? { ...noResult, id, name, args };
  });
  return [...paired, ...byId.values()];
}

const noResult = {
  result: null,
  error: "no result was recorded",
  outcome: "error",
  execution_time_ms: 0,
  insights: "",
  learning: "",
  relevance: "",
} as const;

/** Characters of an argument's value in a line. */
const shownValue = 80;

/** Renders a call in one line: `search(query="python tutorial", limit=3)`. Long values are truncated with a marker. */
export function callSignature({
  name,
  args,
}: {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}): string {
  const shown = Object.entries(args).map(([key, value]) => `${key}=${shortValue(value)}`);
  return inOneLine(`${name}(${shown.join(", ")})`);
}

function shortValue(value: unknown): string {
  if (typeof value === "string") {
    const head = headOf(value, shownValue);
    const quoted = JSON.stringify(head);
    return head === value ? quoted : quoted + truncationNote(value.length - head.length);
  }
  const json = jsonHead(value, 20 * shownValue);
  const head = headOf(json.text, shownValue);
  if (json.whole && head === json.text) return head;
  return head + truncationNote(json.text.length - head.length, !json.whole);
}

/** Joins the trimmed lines of a text with spaces. */
export function inOneLine(text: string): string {
  const lines = text.split(/[\r\n\u2028\u2029]/).map((line) => line.trim());
  return lines.filter((line) => line !== "").join(" ");
}

/** Default number of repetitions that count as stuck. */
const limit = 3;

/** Steps searched for a repeated call, per allowed repetition, the last step included. */
const stepsPerRepetition = 4;

/** How often the same call may return the same result. */
export interface RepetitionLimits {
  /** The limit of most tools. */
  readonly maxRepeats: number;
  /** The limit of tools that are polled until their result changes. */
  readonly maxPolls: number;
  isRepeatable(tool: string): boolean;
}

const defaultLimits: RepetitionLimits = {
  maxRepeats: limit,
  maxPolls: limit,
  isRepeatable: () => false,
};

export interface Stuck {
  /**
   * `no_progress`: three steps in a row judged themselves stuck, and did more than wait. `repeated_call`: the last step
   * repeated a call of earlier steps with the same result. It counts when it reaches its tool's limit within four times
   * as many steps. `no_action`: three steps in a row had neither a call nor an answer.
   */
  readonly kind: "no_progress" | "repeated_call" | "no_action";
  readonly reason: string;
}

/**
 * Returns whether an attempt is stuck, judged by its last step: a step that does something new resets the count. Equal
 * calls of one step count once, since none could know the others' results. The cost is bounded by the limits, not by
 * the length of the attempt.
 *
 * @param steps the steps of one attempt, in order
 * @param limits default: three for every tool
 */
export function detectStuck(
  steps: readonly StepRecord[],
  limits: RepetitionLimits = defaultLimits,
): Stuck | null {
  const recent = steps.slice(-limit);
  const hasEnough = recent.length === limit;
  if (hasEnough && recent.every((step) => step.next_action === "continue")) {
    return {
      kind: "no_action",
      reason: `${limit} steps in a row had neither a tool call nor an answer`,
    };
  }
  const repeated = repeatedCall(steps, limits);
  if (repeated !== null) {
    return {
      kind: "repeated_call",
      reason: `the same call of ${repeated.name} gave the same result ${limitOf(repeated, limits)} times`,
    };
  }
  const isStuck = (step: StepRecord) => step.progress === "stuck" && !onlyWaits(step, limits);
  if (hasEnough && recent.every(isStuck)) {
    return { kind: "no_progress", reason: `${limit} steps in a row made no progress` };
  }
  return null;
}

export type StuckDecision =
  | { readonly action: "none" }
  | { readonly action: "deepen" | "end"; readonly reason: string };

/**
 * Decides what to do before the next step of an attempt: continue, make it a deep step, or end the attempt. A stuck
 * attempt is deepened once; it ends if it is stuck after a deep step. `no_action` ends it at once.
 *
 * @param steps the steps of one attempt, in order
 */
export function raiseOrEnd(
  steps: readonly StepRecord[],
  limits: RepetitionLimits = defaultLimits,
): StuckDecision {
  const stuck = detectStuck(steps, limits);
  if (stuck === null) return { action: "none" };
  const wasDeep = steps.some((step) => step.mode === "deep");
  const action = stuck.kind === "no_action" || wasDeep ? "end" : "deepen";
  return { action, reason: stuck.reason };
}

function repeatedCall(steps: readonly StepRecord[], limits: RepetitionLimits): ToolResult | null {
  for (const call of steps.at(-1)?.tool_results ?? []) {
    const most = limitOf(call, limits);
    const earlier = steps.slice(-most * stepsPerRepetition, -1);
    let count = 1;
    for (let index = earlier.length - 1; index >= 0 && count < most; index -= 1) {
      if (earlier[index]?.tool_results.some((other) => isRepetition(other, call))) count += 1;
    }
    if (count >= most) return call;
  }
  return null;
}

function limitOf({ name }: Pick<ToolResult, "name">, limits: RepetitionLimits): number {
  return limits.isRepeatable(name) ? limits.maxPolls : limits.maxRepeats;
}

/** Returns whether a step did nothing but poll. */
function onlyWaits({ tool_results: results }: StepRecord, limits: RepetitionLimits): boolean {
  return results.length > 0 && results.every(({ name }) => limits.isRepeatable(name));
}

function isRepetition(a: ToolResult, b: ToolResult): boolean {
  return (
    a.name === b.name &&
    a.outcome === b.outcome &&
    a.error === b.error &&
    isDeepStrictEqual(a.args, b.args) &&
    isDeepStrictEqual(a.result, b.result)
  );
}
