import { StratagraphError } from "../../errors.ts";

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
