import type { Subtask } from "../state/task-plan.ts";

export type Linked = readonly Pick<Subtask, "id" | "dependencies">[];

/** Subtasks by their places in a plan. Dependencies that are not in it are left out. */
export interface PlanLinks {
  /** Where a subtask is; of several with one id, the first. */
  readonly placeOf: ReadonlyMap<string, number>;
  /** Places that a place depends on. */
  readonly dependencies: readonly (readonly number[])[];
  /** Places that depend on a place, ascending. */
  readonly dependents: readonly (readonly number[])[];
}

/** In linear time. */
export function linkSubtasks(subtasks: Linked): PlanLinks {
  const placeOf = new Map<string, number>();
  for (const [place, { id }] of subtasks.entries()) {
    if (!placeOf.has(id)) placeOf.set(id, place);
  }
  const dependents: number[][] = subtasks.map(() => []);
  const dependencies = subtasks.map((subtask, place) => {
    const places: number[] = [];
    for (const id of subtask.dependencies) {
      const dependency = placeOf.get(id);
      if (dependency === undefined) continue;
      places.push(dependency);
      dependents[dependency]?.push(place);
    }
    return places;
  });
  return { placeOf, dependencies, dependents };
}

/**
 * Places, each after all that it depends on (Kahn 1962). In linear time.
 *
 * @throws TypeError for what `checkPlan` finds: a cycle, two subtasks of one id
 */
export function dependencyOrder({ placeOf, dependencies, dependents }: PlanLinks): number[] {
  const missing = dependencies.map(({ length }) => length);
  const order = [...missing.keys()].filter((place) => missing[place] === 0);
  // Grows while it is walked.
  for (const place of order) {
    for (const dependent of dependents[place] ?? []) {
      const left = (missing[dependent] ?? 0) - 1;
      missing[dependent] = left;
      if (left === 0) order.push(dependent);
    }
  }
  if (order.length < dependencies.length) throw new TypeError("The subtasks have a cycle");
  if (placeOf.size < dependencies.length) throw new TypeError("Two subtasks have one id");
  return order;
}
