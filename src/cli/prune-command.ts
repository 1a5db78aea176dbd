import { systemClock } from "../clock.ts";
import type { PruneOptions, PruneResult } from "../runtime/threads/archive.ts";
import { confirmed } from "./ask/confirm.ts";
import type { ReclaimedSpace } from "../storage/reclaim-space.ts";
import type { CliIo } from "./io.ts";
import { databaseFolder, hasDatabase, withKnownThread } from "./open-threads.ts";
import { printJson, printLines } from "./print.ts";
import { exitCodes } from "./report-error.ts";
import { UsageError } from "./usage-error.ts";
import { byteSize, count } from "./view/figures.ts";
import { plainLine } from "./view/plain-text.ts";

export interface PruneCommandOptions {
  readonly keep?: PruneOptions["keep"];
  /** Milliseconds. */
  readonly olderThan?: number;
  readonly reclaim?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

const kept: Readonly<Record<PruneOptions["keep"], string>> = {
  latest: "but the last one",
  turn_ends: "but the last one of every turn",
  all: "",
};

/**
 * `stratagraph prune`: removes old checkpoints of a thread, gives space back to the file system, or both.
 * @throws UsageError, UnknownThreadError
 */
export async function pruneCommand(
  given: PruneCommandOptions & { readonly thread?: string },
  io: CliIo,
): Promise<number> {
  const { thread: threadId, reclaim = false } = given;
  const removed = threadId === undefined ? undefined : await prune(threadId, given, io);
  if (threadId === undefined) checkReclaimAlone(given, io);
  const space = reclaim && removed !== null ? await reclaimed(io) : undefined;
  if (given.json) {
    const pruned = threadId === undefined ? {} : { thread_id: threadId, ...removed };
    printJson({ ...pruned, ...(space !== undefined && { reclaimed: space }) }, io);
    return exitCodes.done;
  }
  if (removed === null) printLines(["Nothing was removed."], io);
  else if (removed !== undefined) {
    const { checkpoints, elements, bytes } = removed;
    const what = `${count(checkpoints, "checkpoint")} and ${count(elements, "stored element")}`;
    printLines([plainLine(`Removed ${what} of ${threadId}: ${byteSize(bytes)}.`)], io);
  }
  if (space === null) printLines(onPostgres, io);
  else if (space !== undefined) {
    const { before, after } = space;
    printLines([`The database takes ${byteSize(after)}; before, ${byteSize(before)}.`], io);
  }
  return exitCodes.done;
}

/** @returns null when it was not confirmed */
async function prune(
  threadId: string,
  given: PruneCommandOptions,
  io: CliIo,
): Promise<PruneResult | null> {
  const { keep, olderThan: age } = given;
  if (keep === undefined) throw new UsageError("Say with --keep what stays of the thread.");
  if (keep === "all" && age === undefined) {
    throw new UsageError("--keep all removes only what is older than --older-than says: give it.");
  }
  const olderThan = age === undefined ? undefined : new Date(systemClock.now().getTime() - age);
  const old = olderThan === undefined ? [] : [`made before ${olderThan.toISOString()}`];
  const which = plainLine(["all checkpoints of", threadId, ...old, kept[keep]].join(" "));
  return withKnownThread(threadId, io, async (threads) => {
    // A thread that is not there is said not to be, rather than pruned of nothing.
    await threads.history(threadId, { limit: 1 });
    if (!(await confirmed(`Remove ${which}?`, given, io))) return null;
    return threads.prune({ threadId, keep, ...(olderThan !== undefined && { olderThan }) });
  });
}

function checkReclaimAlone({ reclaim, keep, olderThan }: PruneCommandOptions, io: CliIo): void {
  if (!reclaim) throw new UsageError("Name the thread to prune, or give --reclaim.");
  if (keep !== undefined || olderThan !== undefined) {
    throw new UsageError("--keep and --older-than are of a thread: name it.");
  }
  if (!hasDatabase(io)) throw new UsageError("There is no database here.");
}

/** @returns null for a Postgres server, whose files are the server's */
async function reclaimed(io: CliIo): Promise<ReclaimedSpace | null> {
  if (io.env["DATABASE_URL"]) return null;
  const folder = databaseFolder(io);
  const { openDatabase } = await import("../storage/database.ts");
  const { reclaimSpace } = await import("../storage/reclaim-space.ts");
  const database = await openDatabase({ folder });
  try {
    return await reclaimSpace(database.pool, folder);
  } finally {
    await database.close();
  }
}

const onPostgres = [
  "Postgres uses the space of removed rows again by itself, and keeps its files.",
  "To make the files smaller, run this while no agent runs. It locks the tables, and needs free space for a copy of each:",
  "",
  "  vacuum (full, analyze) checkpoints, checkpoint_elements, checkpoint_write_sets, checkpoint_blobs, checkpoint_writes;",
];
