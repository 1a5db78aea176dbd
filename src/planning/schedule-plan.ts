import type { TaskPlan } from "../state/task-plan.ts";

export interface SchedulePlanOptions {
  /** Subtasks at once. Default 8, as at run time; `Infinity` for no limit. */
  readonly maxParallel?: number;
  /** How long a subtask takes, in any unit, at least 0. Default: 1 each. */
  readonly durationOf?: (id: string) => number;
}

export interface PlanSchedule {
  /** In the order in which they begin. */
  readonly subtasks: readonly {
    readonly id: string;
    readonly start: number;
    readonly end: number;
  }[];
  /** When the last one ends. */
  readonly makespan: number;
  /** The longest way through the plan: no schedule is shorter. */
  readonly criticalPath: { readonly length: number; readonly ids: readonly string[] };
  /** Ids by topological level. */
  readonly levels: readonly (readonly string[])[];
}

/**
 * How a plan is run when every subtask takes as long as is said: the scheduler of the run on a clock of its own.
 *
 * @throws InvalidPlanError, RangeError-like errors for durations below 0
 */
export function schedulePlan(
  _plan: Pick<TaskPlan, "subtasks">,
  _options: SchedulePlanOptions = {},
): PlanSchedule {
  throw new TypeError("stub");
}
