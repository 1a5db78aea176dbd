import { StratagraphError } from "../../errors.ts";

/** The config of a format rail asks for something that cannot be checked. */
export class FormatRailError extends StratagraphError {
  readonly code = "format_rail";

  constructor(
    /** Of the config: `schema` or `pattern`. */
    readonly option: string,
    readonly problem: string,
    options?: { cause?: unknown },
  ) {
    super(`The option "${option}" of the format rail cannot be used: ${problem}.`, options);
  }
}
