import { type CliIo, UsageError } from "../io.ts";
import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { exportLines } from "../../../checkpointers/threads/transfer/import-thread.ts";
import { systemClock } from "../../clock.ts";
import { checkThreadId } from "../../runtime/errors.ts";
import type { PruneOptions, PruneResult } from "../../durable-saver.ts";
import type { ReclaimedSpace } from "../../storage/database.ts";
import { confirmed } from "../ask/approve-call.ts";
import { writeFileAtomic } from "../input.ts";
import { existingFile } from "../load.ts";
import { commandLine } from "../command-line.ts";
import { printJson, printLines } from "../output.ts";
import { exitCodes } from "../report-error.ts";
import { byteSize, count } from "../view/figures.ts";
import { plainLine } from "../view/terminal.ts";
import { printableJson } from "../view/values.ts";
import { databaseFolder, hasDatabase, withKnownThread, withThreads } from "./open.ts";

export interface PruneCommandOptions {
  readonly keep?: PruneOptions["keep"];
  /** Milliseconds. */
  readonly olderThan?: number;
  readonly reclaim?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

const kept: Readonly<Record<PruneOptions["keep"], string>> = {
  latest: "except the last one",
  turn_ends: "except the last one of every turn",
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
  if (space !== undefined) printLines(spaceLines(space), io);
  return exitCodes.done;
}

/** @returns null when it was not confirmed */
async function prune(
  threadId: string,
  given: PruneCommandOptions,
  io: CliIo,
): Promise<PruneResult | null> {
  const { keep, olderThan: age } = given;
  if (keep === undefined) throw new UsageError("Give --keep: which checkpoints to keep.");
  if (keep === "all" && age === undefined) {
    throw new UsageError(
      "--keep all needs --older-than: the age from which checkpoints are removed.",
    );
  }
  const olderThan = age === undefined ? undefined : new Date(systemClock.now().getTime() - age);
  const old = olderThan === undefined ? [] : [`created before ${olderThan.toISOString()}`];
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
    throw new UsageError("--keep and --older-than need a thread: name it.");
  }
  if (!hasDatabase(io)) throw new UsageError("There is no database in this folder.");
}

async function reclaimed(io: CliIo): Promise<ReclaimedSpace | typeof onPostgres> {
  if (io.env["DATABASE_URL"]) return onPostgres;
  const folder = databaseFolder(io);
  const { openDatabase } = await import("../../storage/database.ts");
  const { reclaimSpace } = await import("../../storage/database.ts");
  const database = await openDatabase({ folder });
  try {
    return await reclaimSpace(database.pool, folder);
  } finally {
    await database.close();
  }
}

/** A Postgres server keeps its files: what to run there. */
const onPostgres = {
  sql: "vacuum (full, analyze) stratagraph.checkpoints, stratagraph.checkpoint_elements, stratagraph.checkpoint_write_sets, stratagraph.checkpoint_blobs, stratagraph.checkpoint_writes, stratagraph.checkpoint_log_uses, stratagraph.checkpoint_threads, stratagraph.tool_journal;",
};

function spaceLines(space: ReclaimedSpace | typeof onPostgres): readonly string[] {
  if ("before" in space) {
    return [
      `The database now takes ${byteSize(space.after)}, previously ${byteSize(space.before)}.`,
    ];
  }
  return [
    "Postgres reuses the space of removed rows, but does not shrink its files.",
    "To shrink them, run this while no agent runs. It locks the tables, and needs free space for a copy of each:",
    "",
    `  ${space.sql}`,
  ];
}

export interface DeleteCommandOptions {
  /** Whether what agents remember from the thread goes too. */
  readonly memory?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

/**
 * `stratagraph delete`: removes a thread, all that is known of it, and its short-term memories.
 * @throws UsageError, UnknownThreadError
 */
export async function deleteCommand(
  given: DeleteCommandOptions & { readonly thread: string },
  io: CliIo,
): Promise<number> {
  const { thread: threadId, memory = false } = given;
  const removed = await withKnownThread(threadId, io, async (threads) => {
    await threads.history(threadId, { limit: 1 });
    const what = memory
      ? ", its checkpoints and all memories from it"
      : " and all of its checkpoints";
    const question = plainLine(`Remove thread ${threadId}${what}?`);
    if (!(await confirmed(question, given, io))) return null;
    return threads.delete(threadId, { memory });
  });
  if (given.json) {
    printJson({ thread_id: threadId, removed: removed !== null, ...removed }, io);
    return exitCodes.done;
  }
  if (removed === null) printLines(["Nothing was removed."], io);
  else {
    const { memories, archived } = removed;
    const kinds = [
      `${memories.toLocaleString("en")} ${memories === 1 ? "memory" : "memories"}`,
      ...(archived === 0 ? [] : [`${archived.toLocaleString("en")} archived`]),
    ];
    const also = memories + archived === 0 ? "" : ` and ${kinds.join(" and ")}`;
    printLines([plainLine(`Removed thread ${threadId}${also}.`)], io);
  }
  return exitCodes.done;
}

/**
 * `stratagraph export`: a whole thread as lines of JSON, on standard output or in a file.
 * @throws UnknownThreadError, OutputFileError
 */
export async function exportCommand(
  given: { readonly thread: string; readonly out?: string },
  io: CliIo,
): Promise<number> {
  const { thread: threadId, out } = given;
  await withKnownThread(threadId, io, async (threads) => {
    const lines = endedLines(threads.export(threadId));
    if (out !== undefined) return writeFileAtomic(resolve(io.cwd, out), lines);
    // Elsewhere every byte stays: the last line has the hash of all of them.
    const shown = io.stdout.isTerminal ? printableJson : (line: string) => line;
    for await (const line of lines) io.stdout.write(shown(line));
  });
  if (out !== undefined) io.stderr.write(`Wrote ${out}\n`);
  return exitCodes.done;
}

async function* endedLines(lines: AsyncIterable<string>): AsyncGenerator<string> {
  for await (const line of lines) yield line.endsWith("\n") ? line : `${line}\n`;
}

/** Stands for standard input in place of a file. */
const fromStdin = "-";

/**
 * `stratagraph import`: makes a thread of what `export` gave.
 * @throws UsageError, InvalidThreadIdError, and what importing throws: nothing was written then
 */
export async function importCommand(
  given: { readonly file: string; readonly thread?: string; readonly json?: boolean },
  io: CliIo,
): Promise<number> {
  const { file, thread } = given;
  if (thread !== undefined) checkThreadId(thread);
  const path = file === fromStdin ? null : await existingFile(resolve(io.cwd, file), file);
  const lines = exportLines(path === null ? io.stdin : chunksOf(path));
  const { threadId, checkpoints } = await withThreads(io, (threads) =>
    threads.import(lines, thread === undefined ? {} : { threadId: thread }),
  );
  if (given.json) printJson({ thread_id: threadId, checkpoints }, io);
  else {
    const made = plainLine(`Imported thread ${threadId}: ${count(checkpoints, "checkpoint")}.`);
    const look = commandLine(["history", threadId], io);
    printLines([made, "", "To inspect it:", `  ${look}`], io);
  }
  return exitCodes.done;
}

/** Opens the file when its first bytes are asked for. */
async function* chunksOf(path: string): AsyncGenerator<Uint8Array> {
  yield* createReadStream(path) as AsyncIterable<Uint8Array>;
}
