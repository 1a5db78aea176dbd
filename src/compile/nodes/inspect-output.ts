import type { NodeAt } from "./node-work.ts";

/** What an agent or a planner inside gave, as the agent around it may go on with it. */
export type InspectedOutput<T> =
  | { readonly value: T; readonly withheldBy: null }
  | { readonly value: null; readonly withheldBy: string };

/**
 * Has the rails on tool results look at what an agent or a planner inside gave: it comes with the values of what was
 * redacted in there, which the agent around may have to redact itself.
 * @param by the agent's name, or the planner node's
 */
export async function inspectOutput<T>(
  given: T,
  by: string,
  { state, run }: Pick<NodeAt, "state" | "run">,
): Promise<InspectedOutput<T>> {
  const { parts, rails } = run;
  const hidden = rails.hide(given);
  if (!parts.rails.input.some(({ on }) => on.has("tool_result"))) {
    return { value: hidden, withheldBy: null };
  }
  const request = parts.requestOf(state.input);
  const { value, blocked } = await rails.check(
    { on: "tool_result", value: hidden, tool: by, request, evidence: [] },
    {
      turnNumber: state.turn_number ?? 0,
      attemptNumber: state.attempt_number ?? 0,
      stepIndex: null,
      callId: null,
    },
  );
  return blocked === null
    ? { value: value as T, withheldBy: null }
    : { value: null, withheldBy: blocked.rail };
}

/** Why there is no output, where a guardrail has withheld it. */
export function withheldFailure(of: string, rail: string) {
  return {
    cause: `guardrail:${rail}`,
    message: `The result of ${of} was withheld by guardrail ${rail}.`,
  };
}
