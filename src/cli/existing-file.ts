import { stat } from "node:fs/promises";
import { UsageError } from "./usage-error.ts";

/**
 * Returns `file`.
 * @param shown the path as it was given, for the message
 * @throws UsageError when it is not a file
 */
export async function existingFile(file: string, shown: string): Promise<string> {
  const found = await stat(file).catch((cause: unknown) => {
    throw new UsageError(`There is no file ${shown}.`, "file_not_found", { cause });
  });
  if (!found.isFile()) throw new UsageError(`${shown} is not a file.`, "file_not_found");
  return file;
}

/** As {@link existingFile}, for folders. */
export async function existingFolder(folder: string, shown: string): Promise<string> {
  const found = await stat(folder).catch((cause: unknown) => {
    throw new UsageError(`There is no folder ${shown}.`, "folder_not_found", { cause });
  });
  if (!found.isDirectory()) throw new UsageError(`${shown} is not a folder.`, "folder_not_found");
  return folder;
}
