import type { CurrentStep } from "../../state/step-record.ts";
import { blankStep } from "../loop/blank-step.ts";
import type { NodeAt } from "./node-work.ts";

/** A step that a workflow node begins. */
export function blankStepAt(
  { state, run, stepIndex }: NodeAt,
  timestamp = run.parts.clock.now().toISOString(),
): CurrentStep {
  return blankStep({
    turn_number: state.turn_number ?? 0,
    attempt_number: state.attempt_number ?? 0,
    step_index: stepIndex,
    node: run.node,
    timestamp,
    approach: state.turn?.approach ?? "",
  });
}
