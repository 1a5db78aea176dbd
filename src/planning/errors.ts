import { StratagraphError } from "../errors.ts";
import type { SubtaskError } from "../state/plan.ts";
import type { PlanProblem } from "./read-plan.ts";

/**
 * A plan cannot be run: duplicate ids, a cycle, an unknown worker. If a planner was to run it, the turn's failure has
 * this code and message.
 */
export class InvalidPlanError extends StratagraphError {
  readonly code = "invalid_plan";
  override readonly kind = "run";

  constructor(
    readonly problems: readonly PlanProblem[],
    /** The author of the plan. */
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
 * A person rejected a plan, and no other one may be proposed. The turn's failure has this code and message.
 */
export class PlanRejectedError extends StratagraphError {
  readonly code = "plan_rejected";
  override readonly kind = "run";

  constructor(
    /** Plans that were rejected. */
    readonly plans: number,
    /** Why the last one was rejected; empty if no reason was given. */
    readonly reason: string,
  ) {
    const why = reason === "" ? "." : `: ${reason}`;
    super(plans === 1 ? `The plan was rejected${why}` : `All ${plans} plans were rejected${why}`);
  }
}

/**
 * A subtask has exhausted its attempts and `on_failure` is `fail`, or no subtask succeeded. The turn's failure has this
 * code and message.
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
    /** The given value, shortened. */
    readonly given: string,
  ) {
    super(`The option ${option} of a schedule must be ${expected}; got ${given}.`);
  }
}
