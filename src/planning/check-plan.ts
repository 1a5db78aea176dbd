import type { SubtaskStates } from "../state/subtask-state.ts";
import type { TaskPlan } from "../state/task-plan.ts";

/** What a plan may hold. */
export interface PlanLimits {
  /** Subtasks of all plans for a task, those in `given` included. */
  readonly maxSubtasks: number;
  /** Names that a subtask may give as its worker. */
  readonly workers: readonly string[];
  /** What was planned before: a plan for gaps may depend on what is done of it, and takes none of its ids. */
  readonly given?: SubtaskStates;
}

export type PlanProblemKind =
  | "shape"
  | "empty"
  | "too_many"
  | "duplicate_id"
  | "unknown_dependency"
  | "self_dependency"
  | "unfinished_dependency"
  | "cycle"
  | "unknown_worker";

/** One thing that is wrong with a plan. */
export interface PlanProblem {
  readonly kind: PlanProblemKind;
  /** The subtasks concerned; of a cycle in order, the first one again at the end. */
  readonly ids: readonly string[];
  /** For people and models: what was expected, what came, what to do. */
  readonly message: string;
}

export type CheckedPlan =
  | { readonly ok: true; readonly plan: TaskPlan }
  | { readonly ok: false; readonly problems: readonly PlanProblem[] };

/** Checks a plan of whatever came: every problem at once. */
export function checkPlan(_value: unknown, _limits: PlanLimits): CheckedPlan {
  throw new TypeError("stub");
}
