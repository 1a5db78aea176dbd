import { StratagraphError } from "../../../errors.ts";
import { ToolFailure } from "../../tool-failure.ts";

/** No answer came, or it broke off. The system's code, such as ECONNREFUSED, is that of `cause`. */
export class HttpUnreachableError extends StratagraphError {
  readonly code = "http_unreachable";
  override readonly kind = "run";
  override readonly transient = true;

  constructor(
    /** With its port where it is not the scheme's own. */
    readonly host: string,
    reason: string,
    options?: { cause?: unknown },
  ) {
    super(`${host} cannot be reached: ${reason.replace(/\.$/, "")}.`, options);
  }
}

/** The server answered with a status of 400 or more. */
export class HttpStatusFailure extends ToolFailure {
  /** Whether the same request may succeed a little later: statuses 429 and 503. */
  readonly retryable: boolean;
  override readonly transient: boolean;

  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
    this.retryable = status === 429 || status === 503;
    this.transient = this.retryable;
  }
}

/** A body is JSON that is nested more deeply than those who walk a result can go. */
export class DeepJsonFailure extends ToolFailure {
  constructor(
    /** Levels of lists and objects within each other that are taken. */
    readonly maxDepth: number,
    /** The body. */
    readonly text: string,
  ) {
    super(
      `The body is JSON that is nested more than ${maxDepth} levels deep, which cannot be taken. Ask for a part of it.`,
    );
  }
}
