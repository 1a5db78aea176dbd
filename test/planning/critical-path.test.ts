import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { criticalPath, remainingPaths } from "../../src/planning/plan-graph.ts";
import { chainOf, longestWays, subtasksOf, timedPlans } from "../helpers/arbitrary-plan.ts";

describe("criticalPath", () => {
  it("is the longest way by durations", () => {
    const subtasks = subtasksOf("a:; b: a; c: a; d: b c; e:");
    const durations: Record<string, number> = { a: 1, b: 5, c: 2, d: 1, e: 6.5 };
    expect(criticalPath(subtasks, (id) => durations[id] ?? 0)).toEqual({
      length: 7,
      ids: ["a", "b", "d"],
    });
    expect(criticalPath(subtasks)).toEqual({ length: 3, ids: ["a", "b", "d"] });
  });

  it("is the first by the order of the plan where several are longest", () => {
    expect(criticalPath(subtasksOf("x1:; y1:; y2: y1; x3: x1; x2: x1")).ids).toEqual(["x1", "x3"]);
    expect(criticalPath(subtasksOf("end: b a; a:; b:")).ids).toEqual(["a", "end"]);
  });

  it("goes from a beginning to an end over subtasks that take no time", () => {
    expect(criticalPath(subtasksOf("c: b; b: a; a:"), () => 0)).toEqual({
      length: 0,
      ids: ["a", "b", "c"],
    });
  });

  it("is nothing for an empty plan, and takes dependencies outside it for done", () => {
    expect(criticalPath([])).toEqual({ length: 0, ids: [] });
    expect(criticalPath(subtasksOf("a: before"))).toEqual({ length: 1, ids: ["a"] });
  });

  it("is as long as the longest way by definition, and is one of the plan", () => {
    fc.assert(
      fc.property(timedPlans(), (plan) => {
        const { length, ids } = criticalPath(plan.subtasks, plan.durationOf);
        expect(length).toBe(Math.max(...longestWays(plan).values()));
        expect(ids.reduce((sum, id) => sum + plan.durationOf(id), 0)).toBe(length);
        const after = new Map(plan.subtasks.map((one) => [one.id, one.dependencies]));
        expect(after.get(ids[0] ?? "")).toEqual([]);
        for (const [at, id] of ids.slice(1).entries()) expect(after.get(id)).toContain(ids[at]);
      }),
    );
  });

  it("has some path for fractions too", () => {
    const drawn = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 25 });
    fc.assert(
      fc.property(timedPlans(), drawn, ({ subtasks }, durations) => {
        const durationOf = (id: string) => durations[Number(id.slice(1))] ?? 0;
        const { length, ids } = criticalPath(subtasks, durationOf);
        expect(ids.reduce((sum, id) => sum + durationOf(id), 0)).toBe(length);
      }),
    );
  });

  it("refuses cycles", () => {
    expect(() => criticalPath(subtasksOf("a: a"))).toThrow(TypeError);
  });
});

describe("remainingPaths", () => {
  it("is what is left from the beginning of each subtask", () => {
    const remaining = remainingPaths(subtasksOf("a:; b: a; c: a; d: b c; e:"), (id) =>
      id === "c" ? 4 : 1,
    );
    expect(Object.fromEntries(remaining)).toEqual({ a: 6, b: 2, c: 5, d: 1, e: 1 });
  });

  it("is the longest way of the plan turned round", () => {
    fc.assert(
      fc.property(timedPlans(), ({ subtasks, durationOf }) => {
        const turned = subtasks.map((one) => ({
          ...one,
          dependencies: subtasks
            .filter(({ dependencies }) => dependencies.includes(one.id))
            .map(({ id }) => id),
        }));
        expect(remainingPaths(subtasks, durationOf)).toEqual(
          longestWays({ subtasks: turned, durationOf }),
        );
      }),
    );
  });

  it("holds a chain that no stack would", () => {
    expect(remainingPaths(chainOf(5_000)).get("s0")).toBe(5_000);
  });
});
