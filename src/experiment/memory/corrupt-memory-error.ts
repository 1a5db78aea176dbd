import { StratagraphError } from "../../errors.ts";

/** A text in the memory of a run is not what was written. */
export class CorruptMemoryError extends StratagraphError {
  readonly code = "corrupt_memory";
  override readonly kind = "run";

  constructor(
    readonly runId: string,
    readonly key: string,
  ) {
    super(
      `Expected the text ${JSON.stringify(key)} in the memory of run ${JSON.stringify(runId)} as it was written, but it does not have the hash that it was given. ` +
        "Restore the database from a backup, or begin the run again with --fresh.",
    );
  }
}
