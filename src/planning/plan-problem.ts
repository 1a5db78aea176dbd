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
  /**
   * The subtasks concerned. Of a dependency that is not done, both; of a cycle all on it, each before the one that it
   * depends on, the first one again at the end.
   */
  readonly ids: readonly string[];
  /** For people and models: what was expected, what came, what to do. */
  readonly message: string;
}
