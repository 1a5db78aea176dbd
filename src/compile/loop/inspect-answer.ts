import type { GraphState } from "../../state/channels.ts";
import type { Decision } from "../../state/decision.ts";
import { AnswerBlockedError } from "../errors.ts";
import type { NodeRun } from "./node-body.ts";

interface At {
  readonly state: GraphState;
  readonly run: NodeRun;
}

/**
 * What a person decided, before any model reads it: what they wrote is as the rails on input leave it that look for what must
 * not be told.
 * @param decision with the marks of what is known
 * @throws AnswerBlockedError, which ends the turn as a blocked input does
 */
export async function inspectDecision(decision: Decision, at: At): Promise<Decision> {
  switch (decision.decision) {
    case "approve":
      return decision;
    case "edit":
      return { ...decision, value: await inspectAnswer(decision.value, at) };
    case "reject":
      return { ...decision, reason: String(await inspectAnswer(decision.reason, at)) };
  }
}

async function inspectAnswer(said: unknown, { state, run }: At): Promise<unknown> {
  const { parts, rails } = run;
  if (parts.rails.answer.length === 0 || said === "") return said;
  const { value, blocked } = await rails.check(
    {
      on: "input",
      rails: "answer",
      value: said,
      tool: null,
      request: parts.requestOf(state.input),
      evidence: [],
    },
    {
      turnNumber: state.turn_number ?? 0,
      attemptNumber: state.attempt_number ?? 0,
      stepIndex: null,
      callId: null,
    },
  );
  if (blocked !== null) throw new AnswerBlockedError(run.node, blocked.rail);
  return value;
}
