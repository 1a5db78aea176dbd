import { StratagraphError } from "../errors.ts";
import type { SubtaskError } from "../state/subtask-state.ts";
import type { PlanProblem } from "./plan-problem.ts";

/**
 * A plan that cannot be run: two subtasks of one id, a cycle, a worker that there is not. Of one that a planner was to run,
 * the turn's failure has the code and the message.
 */
export class InvalidPlanError extends StratagraphError {
  readonly code = "invalid_plan";
  override readonly kind = "run";

  constructor(
    readonly problems: readonly PlanProblem[],
    /** Whose plan it is. */
    readonly from: "caller" | "model",
  ) {
    const most = 20;
    const listed = problems.slice(0, most).map(({ message }) => `  - ${message}`);
    const more = problems.length - listed.length;
    const rest = more > 0 ? [`  … and ${more.toLocaleString("en")} more`] : [];
    const whose = from === "caller" ? "The plan" : "The model's plan, asked for twice,";
    super([`${whose} cannot be run:`, ...listed, ...rest].join("\n"));
  }
}

/**
 * A subtask failed for good, and `on_failure` is `fail`, or nothing was done at all. The turn's failure has the code and
 * the message.
 */
export class SubtaskFailedError extends StratagraphError {
  readonly code = "subtask_failed";
  override readonly kind = "run";

  constructor(
    /** The subtask's id. */
    readonly subtask: string,
    readonly worker: string,
    readonly reason: SubtaskError,
  ) {
    super(`Subtask "${subtask}" of worker "${worker}" failed (${reason.code}): ${reason.message}`);
  }
}

/** An option of `schedulePlan` is out of range. */
export class InvalidScheduleOptionError extends StratagraphError {
  readonly code = "invalid_schedule_option";

  constructor(
    readonly option: string,
    expected: string,
    /** What came, in a few words. */
    readonly given: string,
  ) {
    super(`The option ${option} of a schedule has to be ${expected}; got ${given}.`);
  }
}
