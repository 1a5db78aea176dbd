import { isDeepStrictEqual } from "node:util";
import type { StepRecord, ToolResult } from "./step-record.ts";

/** How often the same thing has to happen before it counts. */
const limit = 3;

/** Steps, the last one included, in which a repeated call is looked for. */
const window = 12;

export interface Stuck {
  /**
   * `no_progress`: three steps in a row judged themselves stuck. `repeated_call`: the last step made a call that
   * two others of the last twelve steps made too, with the same result. `no_action`: three steps in a row had neither
   * a call nor an answer.
   */
  readonly kind: "no_progress" | "repeated_call" | "no_action";
  readonly reason: string;
}

/**
 * Whether an attempt goes round in circles, judged by its last step: a step that does something new clears what was
 * before it. Calls of one step count once, since none of them could know the others' results. The cost is bounded by
 * twelve steps, however long the attempt.
 *
 * @param steps the steps of one attempt, in order
 */
export function detectStuck(steps: readonly StepRecord[]): Stuck | null {
  const recent = steps.slice(-limit);
  if (recent.length < limit) return null;
  if (recent.every((step) => step.next_action === "continue")) {
    return {
      kind: "no_action",
      reason: `${limit} steps in a row had neither a tool call nor an answer`,
    };
  }
  const repeated = repeatedCall(steps);
  if (repeated !== null) {
    return {
      kind: "repeated_call",
      reason: `the same call of ${repeated.name} gave the same result ${limit} times`,
    };
  }
  if (recent.every((step) => step.progress === "stuck")) {
    return { kind: "no_progress", reason: `${limit} steps in a row made no progress` };
  }
  return null;
}

export type StuckDecision =
  { readonly action: "none" } | { readonly action: "deepen" | "end"; readonly reason: string };

/**
 * What to do before the next step of an attempt: go on, make it a deep one, or end the attempt. An attempt that is
 * stuck is deepened once; it ends when it is stuck and has had a deep step. `no_action` ends it at once.
 *
 * @param steps the steps of one attempt, in order
 */
export function raiseOrEnd(steps: readonly StepRecord[]): StuckDecision {
  const stuck = detectStuck(steps);
  if (stuck === null) return { action: "none" };
  const wasDeep = steps.some((step) => step.mode === "deep");
  const action = stuck.kind === "no_action" || wasDeep ? "end" : "deepen";
  return { action, reason: stuck.reason };
}

function repeatedCall(steps: readonly StepRecord[]): ToolResult | null {
  const recent = steps.slice(-window);
  const last = recent.pop();
  for (const call of last?.tool_results ?? []) {
    let count = 1;
    for (let index = recent.length - 1; index >= 0 && count < limit; index -= 1) {
      if (recent[index]?.tool_results.some((earlier) => isRepetition(earlier, call))) count += 1;
    }
    if (count >= limit) return call;
  }
  return null;
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
