import { describe, expect, it } from "vitest";
import {
  type ContextMetadata,
  needsSynthesis,
  type StepFidelity,
  type StepShown,
} from "../../src/context/reasoning-context.ts";

function shown(...steps: readonly (readonly [turn: number, step: number, StepFidelity])[]) {
  const all = steps.map(([turn, step, fidelity]): StepShown => {
    return { turn, step, fidelity, tokens: 1 };
  });
  return { steps: all } as Pick<ContextMetadata, "steps"> as ContextMetadata;
}

describe("needsSynthesis", () => {
  it.each<[StepFidelity, StepFidelity, boolean]>([
    ["preview", "whole", true],
    ["preview", "summarised", true],
    ["line", "preview", true],
    ["dropped", "line", true],
    ["preview", "preview", false],
    ["preview", "line", false],
    ["whole", "whole", false],
    ["summarised", "whole", false],
  ])("of a step told as %s and then as %s is %s", (before, after, needed) => {
    const planning = shown([1, 0, before]);
    const synthesis = shown([1, 0, after]);
    expect(needsSynthesis({ turn: 1, planning, synthesis })).toBe(needed);
  });

  it("does not look at the turns before", () => {
    const planning = shown([0, 0, "line"], [1, 0, "whole"]);
    const synthesis = shown([0, 0, "whole"], [1, 0, "whole"]);
    expect(needsSynthesis({ turn: 1, planning, synthesis })).toBe(false);
  });

  it("finds nothing more in a step that the other context does not have", () => {
    const made = { turn: 0, planning: shown([0, 0, "line"]), synthesis: shown() };
    expect(needsSynthesis(made)).toBe(false);
  });
});
