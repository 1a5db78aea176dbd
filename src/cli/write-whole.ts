import { randomUUID } from "node:crypto";
import { rename, rm, writeFile } from "node:fs/promises";
import { StratagraphError } from "../errors.ts";
import { OutputFileError } from "./output-file-error.ts";

/**
 * Writes a file, or replaces it, so that it is never there in part. Only its owner can read it: it may hold values of runs.
 * The mode of a file that it replaces does not count.
 * @throws OutputFileError, and what the content throws while it is made
 */
export async function writeWhole(
  file: string,
  content: string | Uint8Array | AsyncIterable<string>,
): Promise<void> {
  // Beside it, since a file is moved in one go only inside of a file system.
  const draft = `${file}.${randomUUID()}.tmp`;
  try {
    await writeFile(draft, content, { flag: "wx", mode: 0o600 });
    await rename(draft, file);
  } catch (cause) {
    await rm(draft, { force: true });
    if (cause instanceof StratagraphError) throw cause;
    throw new OutputFileError(file, { cause });
  }
}
