import { inspectGiven, type Inspected } from "../loop/inspect-given.ts";
import type { NodeAt } from "./node-work.ts";

/**
 * Has the rails on tool results look at what an agent or a planner inside gave: it comes with the values of what was
 * redacted in there, which the agent around may have to redact itself.
 * @param by the agent's name, or the planner node's
 */
export function inspectOutput<T>(
  given: T,
  by: string,
  at: Pick<NodeAt, "state" | "run">,
): Promise<Inspected<T>> {
  return inspectGiven(given, { by, stepIndex: null, callId: null }, at);
}

/** Why there is no output, where a guardrail has withheld it. */
export function withheldFailure(of: string, rail: string) {
  return {
    cause: `guardrail:${rail}`,
    message: `The result of ${of} was withheld by guardrail ${rail}.`,
  };
}
