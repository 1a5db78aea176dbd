import { StratagraphError } from "../errors.ts";

/** A tool is not defined as it has to be. */
export class InvalidToolError extends StratagraphError {
  readonly code = "invalid_tool";

  constructor(
    readonly tool: string,
    problem: string,
  ) {
    super(`Tool "${tool}": ${problem}.`);
  }
}
