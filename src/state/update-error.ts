import { StratagraphError } from "../errors.ts";

/** Somebody wrote to a channel of the state what it cannot take. Nothing was written. */
export class StateUpdateError extends StratagraphError {
  readonly code = "state_update";

  constructor(
    readonly channel: string,
    expected: string,
  ) {
    super(
      `The channel ${channel} takes ${expected}. Write that with updateState, or leave it out.`,
    );
  }
}
