/** One piece of a plan, done by one worker. */
export interface Subtask {
  /** Unique over all that was planned for the task; letters, digits, `_`, `.` and `-`, at most 64. */
  readonly id: string;
  /** What the worker is to do; it is told nothing else but the results of `dependencies`. */
  readonly description: string;
  /** Ids of the subtasks whose results it needs. */
  readonly dependencies: readonly string[];
  /** Name of the worker; left out, one is matched to the description. */
  readonly worker?: string | undefined;
  /** What its result is to look like. */
  readonly expected_output?: string | undefined;
}

/** A task as subtasks that depend on one another, without a cycle. */
export interface TaskPlan {
  readonly subtasks: readonly Subtask[];
  /** What the joined results are judged by; empty where the task itself says it all. */
  readonly success_criteria: string;
}
