import { transition } from "../../state/lifecycle.ts";
import { NoStepError } from "../errors.ts";
import { approveCalls, editedMessages } from "./approval.ts";
import { callsSoFar } from "./call-rules.ts";
import type { NodeBody } from "./node-body.ts";

/** Asks a person to approve the calls of the step under way. */
export const human: NodeBody = async (state, run) => {
  const current = state.current_step;
  if (!current) throw new NoStepError();
  const before = current.tool_predictions;
  const { calls, approvals } = await approveCalls({
    calls: before,
    before: callsSoFar(state),
    state,
    run,
  });
  const status = transition(state.status ?? "CREATED", "EXECUTING");
  return {
    update: {
      current_step: { ...current, tool_predictions: calls },
      messages: editedMessages(before, calls, state.messages),
      status: transition(status, "AWAITING_TOOL"),
    },
    turn: { approvals },
    goto: "tools",
  };
};
