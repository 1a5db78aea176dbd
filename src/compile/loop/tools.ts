import { transition } from "../../state/lifecycle.ts";
import { NoStepError } from "../errors.ts";
import type { StepRecord } from "../../state/step-record.ts";
import { callsSoFar } from "./call-rules.ts";
import { closeStep, toolMessage } from "./close-step.ts";
import { contextOf } from "./context-of.ts";
import { makeCalls } from "./make-calls.ts";
import type { NodeBody } from "./node-body.ts";
import { reflectOn } from "./reflection.ts";

/** Runs the calls that the last reasoning step asked for and closes its record. */
export const tools: NodeBody = async (state, run) => {
  const { parts } = run;
  const current = state.current_step;
  if (!current) throw new NoStepError();
  const ran = await makeCalls(state, run, {
    calls: current.tool_predictions,
    callsBefore: callsSoFar(state),
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
      messages: ran.results.map((result) => toolMessage(result, parts.ids())),
      execution: ran.state.execution,
      attempt: ran.state.attempt,
      current_step: null,
      status: transition(state.status ?? "CREATED", "EXECUTING"),
      usage: { tool_calls: ran.results.length },
    },
    turn: { approach: step.approach },
    goto: "reason",
  };
};
