import { randomUUID } from "node:crypto";
import { rename, rm, writeFile } from "node:fs/promises";
import { OutputFileError } from "./errors.ts";

/**
 * Writes a file, or replaces it, so that it is never there in part.
 * @throws OutputFileError
 */
export async function writeWhole(file: string, content: string | Uint8Array): Promise<void> {
  // Beside it, since a file is moved in one go only inside of a file system.
  const draft = `${file}.${randomUUID()}.tmp`;
  try {
    await writeFile(draft, content);
    await rename(draft, file);
  } catch (cause) {
    await rm(draft, { force: true });
    throw new OutputFileError(file, { cause });
  }
}
