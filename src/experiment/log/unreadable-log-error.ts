import { StratagraphError } from "../../errors.ts";

/** A log is there and cannot be read, or is there no more. */
export class UnreadableLogError extends StratagraphError {
  readonly code = "experiment_log_unreadable";
  override readonly kind = "run";

  constructor(
    readonly file: string,
    options: { readonly cause: unknown },
  ) {
    const { code, message } = options.cause as NodeJS.ErrnoException;
    super(`The log ${file} cannot be read (${code ?? message}).`, options);
  }
}
