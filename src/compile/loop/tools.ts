import { transition } from "../../state/lifecycle.ts";
import { turnSteps } from "../../state/turn.ts";
import { runToolCalls } from "../../tools/run-tool-calls.ts";
import { NoStepError } from "../errors.ts";
import { closeStep, toolMessage } from "./close-step.ts";
import type { NodeBody } from "./node-body.ts";
import { reflectOn } from "./reflection.ts";

/** Runs the calls that the last reasoning step asked for and closes its record. */
export const tools: NodeBody = async (state, run) => {
  const { parts } = run;
  const current = state.current_step;
  if (!current) throw new NoStepError();
  run.emit({ type: "status", status: "AWAITING_TOOL" });
  const { tool_rails: rails } = parts.definition.spec.guardrail_config;
  const { toolCalls } = turnSteps(state.steps, {
    turnNumber: current.turn_number,
    attemptNumber: current.attempt_number,
  });
  const ran = await runToolCalls({
    calls: current.tool_predictions,
    tools: parts.tools,
    allowed: rails.allowed_tools,
    maxCalls: rails.max_calls_per_turn,
    callsSoFar: toolCalls,
    state: { execution: state.execution, attempt: state.attempt },
    env: {
      signal: run.signal,
      clock: parts.clock,
      executionSchema: parts.definition.behaviour.executionSchema,
      attemptSchema: parts.definition.behaviour.attemptSchema,
    },
    onResult: (result) => {
      run.ended.push(result);
      run.emit({ type: "tool_result", step_index: current.step_index, result });
    },
  });
  const closed = closeStep(current, ran);
  const step = current.mode === "deep" ? await reflectOn(closed, state, run) : closed;
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
