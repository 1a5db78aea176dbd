import type { CurrentStep } from "../../state/step-record.ts";
import { noUsage } from "../../state/usage.ts";

type Place = Pick<
  CurrentStep,
  "turn_number" | "attempt_number" | "step_index" | "node" | "timestamp" | "approach"
>;

/** A step that has begun and of which nothing is known yet: a fast one that goes on. */
export function blankStep(place: Place): CurrentStep {
  return {
    turn_number: place.turn_number,
    attempt_number: place.attempt_number,
    step_index: place.step_index,
    node: place.node,
    timestamp: place.timestamp,
    mode: "fast",
    thought: "",
    planning: "",
    reflection: "",
    approach: place.approach,
    next_action: "continue",
    tool_predictions: [],
    synthesis: "",
    progress: "",
    hypothesis: null,
    problem: "",
    usage: noUsage,
    model: "",
    fallback: null,
  };
}
