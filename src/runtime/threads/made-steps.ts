import type { GraphState } from "../../state/channels.ts";
import type { CurrentStep } from "../../state/step-record.ts";

/** The steps of a turn that a model or the definition has made, also those whose calls have not ended; by `step_index`. */
export function madeSteps(state: GraphState, turn: number): readonly CurrentStep[] {
  const open = state.branches.flatMap((branch) => branch.open);
  const current = state.current_step ?? null;
  const all: readonly CurrentStep[] = [
    ...state.steps,
    ...open,
    ...(current === null ? [] : [current]),
  ];
  const own = all.filter(({ turn_number }) => turn_number === turn);
  return [...new Map(own.map((step) => [step.step_index, step])).values()].toSorted(
    (a, b) => a.step_index - b.step_index,
  );
}

/** Whether a model was asked for a step. */
export function isOfModel({ model }: Pick<CurrentStep, "model">): boolean {
  return model !== "";
}

/** `provider:model` that a step was to be made by, whoever answered instead. */
export function chosenModel({ model, fallback }: CurrentStep): string {
  return fallback?.from ?? model;
}

/** Whether the answer that a step gave was asked for once more: beside its plan and what looks back at it. */
export function isWrittenTwice(step: CurrentStep): boolean {
  const { mode, reflection, tool_predictions, usage } = step;
  const others = (mode === "deep" ? 1 : 0) + (reflection === "" ? 0 : 1);
  return tool_predictions.length === 0 && usage.llm_calls > 1 + others;
}
