import fc from "fast-check";
import type { Subtask } from "../../src/state/plan.ts";

export interface TimedPlan {
  readonly subtasks: readonly Subtask[];
  readonly durationOf: (id: string) => number;
}

/** `a: ; b: a; c: a b` as subtasks. */
export function subtasksOf(written: string): Subtask[] {
  return written.split(";").map((part) => {
    const [id = "", after = ""] = part.split(":").map((text) => text.trim());
    return { id, description: `do ${id}`, dependencies: after.split(" ").filter(Boolean) };
  });
}

/** Subtasks `s0`, `s1` and so on, each after the one before. */
export function chainOf(length: number): Subtask[] {
  return Array.from({ length }, (_, at) => ({
    id: `s${at}`,
    description: "next",
    dependencies: at === 0 ? [] : [`s${at - 1}`],
  }));
}

/** Plans without cycles, in any order, of durations that are whole numbers from 0. */
export function timedPlans(maxLength = 25): fc.Arbitrary<TimedPlan> {
  const one = fc.record({
    dependencies: fc.array(fc.nat(), { maxLength: 3 }),
    duration: fc.nat({ max: 9 }),
    place: fc.nat(),
  });
  return fc.array(one, { minLength: 1, maxLength }).map((drawn) => {
    const durations = new Map(drawn.map(({ duration }, at) => [`s${at}`, duration]));
    const placed = drawn.map(({ dependencies, place }, at) => {
      const before = at === 0 ? [] : dependencies.map((number) => `s${number % at}`);
      return { place, subtask: { id: `s${at}`, description: "something", dependencies: before } };
    });
    return {
      subtasks: placed.toSorted((a, b) => a.place - b.place).map(({ subtask }) => subtask),
      durationOf: (id) => durations.get(id) ?? 0,
    };
  });
}

/** The longest way that ends with each subtask, by the definition. */
export function longestWays({ subtasks, durationOf }: TimedPlan): ReadonlyMap<string, number> {
  const byId = new Map(subtasks.map((subtask) => [subtask.id, subtask]));
  const known = new Map<string, number>();
  const wayTo = (id: string): number => {
    const before = known.get(id);
    if (before !== undefined) return before;
    const ways = byId.get(id)?.dependencies.map(wayTo) ?? [];
    const way = Math.max(0, ...ways) + durationOf(id);
    known.set(id, way);
    return way;
  };
  for (const { id } of subtasks) wayTo(id);
  return known;
}
