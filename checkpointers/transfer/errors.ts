import { StratagraphError } from "../../src/errors.ts";

/** What was to be imported is not, or no longer, what an export gives. Nothing was stored. */
export class InvalidExportError extends StratagraphError {
  readonly code = "invalid_export";

  constructor(
    /** Counted from 1. */
    readonly line: number,
    /** As part of a sentence. */
    readonly reason: string,
    options?: { cause?: unknown },
  ) {
    super(
      `Expected the lines of an exported thread, but at line ${line} ${reason}. Nothing was imported. ` +
        "Import the file as it was exported, or export the thread again.",
      options,
    );
  }
}

/** A thread is to be made under an id that is taken. */
export class ThreadExistsError extends StratagraphError {
  readonly code = "thread_exists";

  constructor(readonly threadId: string) {
    super(
      `Expected an id for a new thread, but there is a thread ${threadId}. Choose another id, or delete that thread first.`,
    );
  }
}
