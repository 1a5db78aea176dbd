import { createReadStream } from "node:fs";
import { resolve } from "node:path";
import { exportLines } from "../../checkpointers/transfer/spooled-export.ts";
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
  const lines = exportLines(path === null ? io.stdin : chunksOf(path));
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

/** Opens the file when its first bytes are asked for. */
async function* chunksOf(path: string): AsyncGenerator<Uint8Array> {
  yield* createReadStream(path) as AsyncIterable<Uint8Array>;
}
