import { StratagraphError } from "../errors.ts";

/** The command line was used wrongly. */
export class UsageError extends StratagraphError {
  readonly code: string;

  /** `code` says more closely what was wrong, where a caller may want to know. */
  constructor(message: string, code = "usage", options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
  }
}
