import { StratagraphError } from "../../errors.ts";
import type { SkippedCheckpoint } from "./sound-checkpoint.ts";

/** A thread cannot go on from any checkpoint that is kept of it. Nothing was written. */
export class NoWayOnError extends StratagraphError {
  readonly code = "no_way_on";
  override readonly kind = "run";

  constructor(
    readonly threadId: string,
    readonly skipped: readonly SkippedCheckpoint[],
  ) {
    const [newest] = skipped;
    super(
      `Thread "${threadId}" has no checkpoint that it can go on from; of the newest, ${newest?.checkpointId ?? ""}, ${newest?.reason ?? ""}. Begin another thread, or restore the database from a backup.`,
    );
  }
}

/** The runtime's checkpointer cannot do what was asked for: LangGraph's interface has no such thing. */
export class NoArchiveError extends StratagraphError {
  readonly code = "no_archive";

  constructor(
    /** The method of `runtime.threads`. */
    readonly method: string,
    /** Null without a checkpointer. */
    readonly checkpointer: string | null,
  ) {
    const found =
      checkpointer === null ? "the runtime has no checkpointer" : `the runtime has ${checkpointer}`;
    super(
      `threads.${method} needs a checkpointer that lists, copies and verifies threads, and ${found}. Leave checkpointer out of createRuntime, or pass a PostgresCheckpointer.`,
    );
  }
}
