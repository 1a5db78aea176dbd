import { StratagraphError } from "../errors.ts";

/** What is wrong with what was to be written to one channel. */
export interface UpdateProblem {
  readonly channel: string;
  readonly message: string;
  /** The nearest channel, where there is none of this name. */
  readonly suggestion?: string | undefined;
}

/** The state was to be changed to what it cannot be. Nothing was written. */
export class InvalidStateUpdateError extends StratagraphError {
  readonly code = "invalid_state_update";

  constructor(readonly problems: readonly UpdateProblem[]) {
    const list = problems.map(({ channel, message, suggestion }) => {
      const meant = suggestion === undefined ? "" : ` (did you mean "${suggestion}"?)`;
      return `${channel}: ${message}${meant}`;
    });
    super(`The state cannot be updated like this: ${list.join("; ")}. Nothing was written.`);
  }
}
