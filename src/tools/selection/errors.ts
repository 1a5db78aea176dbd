import { StratagraphError } from "../../errors.ts";

/** An option of `selectTools` is out of range. */
export class InvalidSelectionOptionError extends StratagraphError {
  readonly code = "invalid_selection_option";

  constructor(
    readonly option: string,
    expected: string,
    /** What came, in a few words. */
    readonly given: string,
  ) {
    super(`The option ${option} of selectTools has to be ${expected}; got ${given}.`);
  }
}
