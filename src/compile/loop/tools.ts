import { transition } from "../../state/lifecycle.ts";
import { runToolCalls } from "../../tools/run-tool-calls.ts";
import { NoStepError } from "../errors.ts";
import type { StepRecord } from "../../state/step-record.ts";
import { callEnv, callLog, callRules, callsSoFar } from "./call-rules.ts";
import { closeStep, toolMessage } from "./close-step.ts";
import { contextOf } from "./context-of.ts";
import type { NodeBody } from "./node-body.ts";
import { reflectOn } from "./reflection.ts";

/** Runs the calls that the last reasoning step asked for and closes its record. */
export const tools: NodeBody = async (state, run) => {
  const { parts } = run;
  const current = state.current_step;
  if (!current) throw new NoStepError();
  run.emit({ type: "status", status: "AWAITING_TOOL" });
  const ran = await runToolCalls({
    ...callRules(parts),
    calls: current.tool_predictions,
    callsSoFar: callsSoFar(state),
    state: { execution: state.execution, attempt: state.attempt },
    env: callEnv(run),
    log: callLog(state, run, () => current.step_index),
    onResult: (result) => {
      run.ended.push(result);
      run.emit({ type: "tool_result", step_index: current.step_index, result });
    },
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
