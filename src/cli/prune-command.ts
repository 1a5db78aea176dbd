import { systemClock } from "../clock.ts";
import type { PruneOptions } from "../runtime/threads/archive.ts";
import { confirmed } from "./ask/confirm.ts";
import type { CliIo } from "./io.ts";
import { withKnownThread } from "./open-threads.ts";
import { printJson, printLines } from "./print.ts";
import { exitCodes } from "./report-error.ts";
import { UsageError } from "./usage-error.ts";
import { byteSize, count } from "./view/figures.ts";
import { plainLine } from "./view/plain-text.ts";

export interface PruneCommandOptions {
  readonly keep: PruneOptions["keep"];
  /** Milliseconds. */
  readonly olderThan?: number;
  readonly yes?: boolean;
  readonly json?: boolean;
}

const kept: Readonly<Record<PruneOptions["keep"], string>> = {
  latest: "but the last one",
  turn_ends: "but the last one of every turn",
  all: "",
};

/**
 * `stratagraph prune`: removes old checkpoints of a thread.
 * @throws UsageError, UnknownThreadError
 */
export async function pruneCommand(
  given: PruneCommandOptions & { readonly thread: string },
  io: CliIo,
): Promise<number> {
  const { thread: threadId, keep, olderThan: age } = given;
  if (keep === "all" && age === undefined) {
    throw new UsageError("--keep all removes only what is older than --older-than says: give it.");
  }
  const olderThan = age === undefined ? undefined : new Date(systemClock.now().getTime() - age);
  const old = olderThan === undefined ? [] : [`made before ${olderThan.toISOString()}`];
  const which = plainLine(["all checkpoints of", threadId, ...old, kept[keep]].join(" "));
  const removed = await withKnownThread(threadId, io, async (threads) => {
    // A thread that is not there is said not to be, rather than pruned of nothing.
    await threads.history(threadId, { limit: 1 });
    if (!(await confirmed(`Remove ${which}?`, given, io))) return null;
    return threads.prune({ threadId, keep, ...(olderThan !== undefined && { olderThan }) });
  });
  if (removed === null) printLines(["Nothing was removed."], io);
  else if (given.json) printJson({ thread_id: threadId, ...removed }, io);
  else {
    const { checkpoints, elements, bytes } = removed;
    const what = `${count(checkpoints, "checkpoint")} and ${count(elements, "stored element")}`;
    printLines([plainLine(`Removed ${what} of ${threadId}: ${byteSize(bytes)}.`)], io);
  }
  return exitCodes.done;
}
