import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { logExtension } from "../experiment/log/check-log.ts";
import { UsageError } from "./usage-error.ts";

/**
 * The logs in a folder, in the order of their names; those below it are not looked for.
 * @param shown the folder as it was given, for the message
 * @throws UsageError when there is none
 */
export async function logsIn(folder: string, shown: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const logs = entries
    .filter((entry) => entry.name.endsWith(logExtension) && !entry.isDirectory())
    .map(({ name }) => name)
    .toSorted();
  if (logs.length > 0) return logs.map((name) => join(folder, name));
  throw new UsageError(
    `There are no logs (*${logExtension}) in ${shown}. Give the folder that experiments log to.`,
    "no_logs",
  );
}
