import { StratagraphError } from "../../errors.ts";
import type { Cancellation } from "../../runtime/threads/threads.ts";
import { commandLine } from "../command-line.ts";
import type { CliIo } from "../io.ts";
import { printJson, printLines } from "../output.ts";
import { exitCodes } from "../report-error.ts";
import { plainLine } from "../view/terminal.ts";
import { withKnownThread } from "./open.ts";

export interface CancelCommandOptions {
  readonly reason?: string;
  /** Seconds. */
  readonly wait?: number;
  readonly json?: boolean;
}

/** Another process has the folder of the embedded database open, and no other one can reach its threads. */
class CancelElsewhereError extends StratagraphError {
  readonly code = "folder_locked";
  override readonly kind = "run";

  constructor(locked: StratagraphError) {
    super(
      `${locked.message} Only the process that has the folder open can cancel its turns: press Ctrl-C there.`,
      { cause: locked },
    );
  }
}

/**
 * `stratagraph cancel`: ends the turn of a thread, whichever process runs it.
 * @returns the exit code: `runFailed` if the turn ended otherwise first
 * @throws UnknownThreadError, NothingToCancelError, InvalidRunOptionError, CancelElsewhereError
 */
export async function cancelCommand(
  given: CancelCommandOptions & { readonly thread: string },
  io: CliIo,
): Promise<number> {
  const { thread: threadId, reason, wait } = given;
  const cancelled = await withKnownThread(threadId, io, (threads) =>
    threads.cancel(threadId, {
      ...(reason !== undefined && { reason }),
      ...(wait !== undefined && { waitMs: wait * 1000 }),
    }),
  ).catch((thrown: unknown) => {
    const isLocked = thrown instanceof StratagraphError && thrown.code === "folder_locked";
    throw isLocked ? new CancelElsewhereError(thrown) : thrown;
  });
  const { outcome, status } = cancelled;
  if (given.json) printJson({ thread_id: threadId, outcome, status }, io);
  else printLines(linesOf(cancelled, io), io);
  return outcome === "ended" ? exitCodes.runFailed : exitCodes.done;
}

function linesOf(
  { threadId, outcome, status }: Cancellation,
  io: Pick<CliIo, "env">,
): readonly string[] {
  switch (outcome) {
    case "cancelled": {
      const resume = commandLine(["run", "AGENT", "--thread", threadId], io);
      return [
        plainLine(`Cancelled the turn of ${threadId}.`),
        "",
        "To continue it:",
        `  ${resume}`,
      ];
    }
    case "requested":
      return [
        plainLine(`Requested. The process that runs ${threadId} has not ended its turn yet.`),
      ];
    case "ended":
      return [plainLine(`The turn of ${threadId} had ended before: it is ${status}.`)];
  }
}
