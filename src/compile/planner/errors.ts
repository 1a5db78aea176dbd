import { StratagraphError } from "../../errors.ts";
import type { TurnFailure } from "../../state/turn.ts";

/** The planner of a node failed, and no edge of the node asks about that. Its code is the cause of the failure. */
export class PlannerFailedError extends StratagraphError {
  readonly code: string;
  override readonly kind = "run";
  override readonly transient: boolean;

  constructor(
    readonly node: string,
    { cause, message, transient }: TurnFailure,
  ) {
    super(`Planner "${node}" failed: ${message}`);
    this.code = cause;
    this.transient = transient === true;
  }
}

/** An attempt of a subtask took too long. */
export class SubtaskTimeoutError extends StratagraphError {
  readonly code = "subtask_timeout";
  override readonly kind = "run";
  override readonly transient = true;

  constructor(
    readonly subtask: string,
    readonly timeoutSeconds: number,
  ) {
    super(
      `The subtask took longer than its ${timeoutSeconds} s. Raise timeout_seconds of the planner, or plan less at once.`,
    );
  }
}

/** What a worker gave is larger than may be kept. */
export class ResultTooLargeError extends StratagraphError {
  readonly code = "result_too_large";
  override readonly kind = "run";

  constructor(
    /** UTF-8 bytes of its JSON; at least so many when they were not all counted. */
    readonly bytes: number,
    isCounted: boolean,
    readonly maxBytes: number,
  ) {
    const size = `${isCounted ? "" : "more than "}${bytes.toLocaleString("en")}`;
    super(
      `The result has ${size} bytes, the limit is ${maxBytes.toLocaleString("en")}. Raise max_result_bytes of the planner, or have the worker keep it elsewhere and give where it is.`,
    );
  }
}
