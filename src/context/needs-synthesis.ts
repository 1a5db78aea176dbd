import type { ContextMetadata, StepFidelity } from "./context-metadata.ts";

const ranks: Readonly<Record<StepFidelity, number>> = {
  dropped: 0,
  line: 1,
  preview: 2,
  summarised: 3,
  whole: 4,
};

/** Whether a context tells steps of a turn with less than their results, or what a model made of them. */
export function isShortened({ steps }: ContextMetadata, turn: number): boolean {
  return steps.some((step) => step.turn === turn && isShort(step.fidelity));
}

/**
 * Whether an answer that was made from a context for planning is to be written from the one for synthesis: where that
 * one shows more of a step of the turn which planning was shown shortened.
 */
export function needsSynthesis(made: {
  readonly turn: number;
  readonly planning: ContextMetadata;
  readonly synthesis: ContextMetadata;
}): boolean {
  const { turn, planning, synthesis } = made;
  const shown = new Map<number, StepFidelity>();
  for (const { turn: of, step, fidelity } of synthesis.steps) {
    if (of === turn) shown.set(step, fidelity);
  }
  return planning.steps.some(
    ({ turn: of, step, fidelity }) =>
      of === turn && isShort(fidelity) && ranks[shown.get(step) ?? "dropped"] > ranks[fidelity],
  );
}

function isShort(fidelity: StepFidelity): boolean {
  return ranks[fidelity] <= ranks.preview;
}
