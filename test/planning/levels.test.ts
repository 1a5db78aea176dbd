import fc from "fast-check";
import { expect, it } from "vitest";
import { planLevels } from "../../src/planning/plan-graph.ts";
import { chainOf, longestWays, subtasksOf, timedPlans } from "../helpers/arbitrary-plan.ts";

it("has what depends on nothing first, each level in the order of the plan", () => {
  const subtasks = subtasksOf("report: sum draw; sum: load; alone:; load:; draw: load");
  expect(planLevels(subtasks)).toEqual([["alone", "load"], ["sum", "draw"], ["report"]]);
});

it("is empty for an empty plan", () => {
  expect(planLevels([])).toEqual([]);
});

it("takes dependencies that are not in the plan for done", () => {
  expect(planLevels(subtasksOf("a: before; b: a before before"))).toEqual([["a"], ["b"]]);
});

it("puts each subtask one level after the last of its dependencies", () => {
  fc.assert(
    fc.property(timedPlans(), ({ subtasks }) => {
      const ways = longestWays({ subtasks, durationOf: () => 1 });
      const levels = planLevels(subtasks);
      const told = levels.flatMap((ids, level) => ids.map((id) => [id, level + 1] as const));
      expect(new Map(told)).toEqual(ways);
      expect(told).toHaveLength(subtasks.length);
    }),
  );
});

it("refuses what a check of the plan finds", () => {
  expect(() => planLevels(subtasksOf("a: b; b: a"))).toThrow(TypeError);
  expect(() => planLevels(subtasksOf("a:; a:"))).toThrow(TypeError);
});

it("holds a chain that no stack would", () => {
  expect(planLevels(chainOf(5_000).toReversed())).toHaveLength(5_000);
});
