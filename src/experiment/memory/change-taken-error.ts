import { StratagraphError } from "../../errors.ts";

/**
 * A change of a run's memory came with a number that is not above the last one's: the run went on without taking back
 * the changes after its checkpoint, or two processes run it. Nothing was changed.
 */
export class MemoryChangeTakenError extends StratagraphError {
  readonly code = "memory_change_taken";
  override readonly kind = "run";

  constructor(
    readonly runId: string,
    readonly change: number,
    /** Number of the last change that the memory has; 0 for none. */
    readonly last: number,
  ) {
    super(
      `Expected a change of the memory of run ${JSON.stringify(runId)} numbered above ${last}, the last one there, got ${change}. ` +
        `See that no other process runs it, and take back the changes after its checkpoint before it goes on.`,
    );
  }
}
