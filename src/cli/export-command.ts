import { resolve } from "node:path";
import type { CliIo } from "./io.ts";
import { withKnownThread } from "./open-threads.ts";
import { exitCodes } from "./report-error.ts";
import { printableJson } from "./view/json-text.ts";
import { writeWhole } from "./write-whole.ts";

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
    if (out !== undefined) return writeWhole(resolve(io.cwd, out), lines);
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
