import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { checkThreadId } from "../runtime/thread-id.ts";
import { existingFile } from "./existing-file.ts";
import type { CliIo } from "./io.ts";
import { withThreads } from "./open-threads.ts";
import { printJson, printLines } from "./print.ts";
import { exitCodes } from "./report-error.ts";
import { commandLine } from "./program-name.ts";
import { count } from "./view/figures.ts";
import { plainLine } from "./view/plain-text.ts";

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
  const lines = linesOf(() => (path === null ? Readable.from(io.stdin) : createReadStream(path)));
  const { threadId, checkpoints } = await withThreads(io, (threads) =>
    threads.import(lines, thread === undefined ? {} : { threadId: thread }),
  );
  if (given.json) printJson({ thread_id: threadId, checkpoints }, io);
  else {
    const made = plainLine(`Imported thread ${threadId}: ${count(checkpoints, "checkpoint")}.`);
    const look = commandLine(["history", threadId], io);
    printLines([made, "", "To look at it:", `  ${look}`], io);
  }
  return exitCodes.done;
}

/** The stream is opened when the first line is asked for: one that nobody reads yet would lose its lines. */
async function* linesOf(open: () => Readable): AsyncGenerator<string> {
  yield* createInterface({ input: open(), crlfDelay: Number.POSITIVE_INFINITY });
}
