import type { Subtask } from "../state/task-plan.ts";

export interface CriticalPath {
  /** The sum of the durations along it: no schedule is shorter. */
  readonly length: number;
  /** In the order in which they are run; of several longest ones, the first by the order of the plan. */
  readonly ids: readonly string[];
}

type Linked = readonly Pick<Subtask, "id" | "dependencies">[];

/** The longest way through a plan. Without durations every subtask takes 1. In linear time. */
export function criticalPath(
  _subtasks: Linked,
  _durationOf: (id: string) => number = () => 1,
): CriticalPath {
  throw new TypeError("stub");
}

/** By id, the longest way from the beginning of a subtask to the end of the plan, itself included. In linear time. */
export function remainingPaths(
  _subtasks: Linked,
  _durationOf: (id: string) => number = () => 1,
): ReadonlyMap<string, number> {
  throw new TypeError("stub");
}
