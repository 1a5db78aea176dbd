import { transition } from "../../state/lifecycle.ts";
import { NoStepError } from "../errors.ts";
import { approveCalls, editedMessages } from "./approval.ts";
import type { StepRecord } from "../../state/step-record.ts";
import { callsSoFar } from "./call-rules.ts";
import { closeStep, toolMessage } from "./close-step.ts";
import { contextOf } from "./context-of.ts";
import { makeCalls } from "./make-calls.ts";
import type { NodeBody } from "./node-body.ts";
import { reflectOn } from "./reflection.ts";

/**
 * Runs the calls that the last reasoning step asked for and closes its record. What was approved is approved as it was
 * then: a call that was edited since, or came past the approval, is asked about here.
 */
export const tools: NodeBody = async (state, run) => {
  const { parts } = run;
  const asked = state.current_step;
  if (!asked) throw new NoStepError();
  const before = callsSoFar(state);
  const { tool_predictions } = asked;
  const approvals = state.turn?.approvals;
  const { calls } = await approveCalls({ calls: tool_predictions, before, approvals, state, run });
  const current = { ...asked, tool_predictions: calls };
  run.begun.push(current);
  const ran = await makeCalls(state, run, {
    calls,
    callsBefore: before,
    stepOf: () => current.step_index,
  });
  const closed = closeStep(current, ran);
  const read = async (openStep: StepRecord, note: string) => {
    const model = await parts.thinker.model(run.context);
    const context = await contextOf(state, run, { model, goal: "planning", openStep, note });
    return { model, messages: context.messages };
  };
  const step = current.mode === "deep" ? await reflectOn(closed, run, read) : closed;
  run.emit({ type: "step", step });
  return {
    update: {
      steps: [step],
      messages: [
        ...editedMessages(tool_predictions, calls, state.messages),
        ...ran.results.map((result) => toolMessage(result, parts.ids())),
      ],
      execution: ran.state.execution,
      attempt: ran.state.attempt,
      current_step: null,
      status: transition(state.status ?? "CREATED", "EXECUTING"),
      usage: { tool_calls: ran.results.length },
    },
    turn: { approach: step.approach, ...(approvals !== undefined && { approvals: {} }) },
    goto: "reason",
  };
};
