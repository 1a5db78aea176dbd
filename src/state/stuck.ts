import { isDeepStrictEqual } from "node:util";
import type { StepRecord, ToolResult } from "./step-record.ts";

/** How often the same thing has to happen before it counts, where nothing else is said. */
const limit = 3;

/** A repeated call is looked for in so many steps for each time that it may be made, the last step included. */
const stepsPerRepetition = 4;

/** How often the same call may give the same result. */
export interface RepetitionLimits {
  /** Of most tools. */
  readonly maxRepeats: number;
  /** Of tools that are repeated until their result changes. */
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
   * made a call that others made too, with the same result, as often as its tool's limit says within four times as many
   * steps. `no_action`: three steps in a row had neither a call nor an answer.
   */
  readonly kind: "no_progress" | "repeated_call" | "no_action";
  readonly reason: string;
}

/**
 * Whether an attempt goes round in circles, judged by its last step: a step that does something new clears what was
 * before it. Calls of one step count once, since none of them could know the others' results. The cost is bounded by
 * the limits, however long the attempt.
 *
 * @param steps the steps of one attempt, in order
 * @param limits three times for every tool, where they are left out
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
 * What to do before the next step of an attempt: go on, make it a deep one, or end the attempt. An attempt that is
 * stuck is deepened once; it ends when it is stuck and has had a deep step. `no_action` ends it at once.
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

/** Whether all that a step did was to look again at something that may take its time. */
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
