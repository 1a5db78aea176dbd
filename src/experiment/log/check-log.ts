import { basename } from "node:path";
import { LogChecker, type LogCheck } from "./log-checker.ts";
import { readLog } from "./read-log.ts";

/** What the name of a log's file ends in. */
export const logExtension = ".jsonl";

/** Id of the run that a log is of, by the name of its file. */
export function runIdOf(path: string): string {
  return basename(path, logExtension);
}

/**
 * Whether a log is what a run writes: every line by its schema, and the lines by each other.
 * @throws UnreadableLogError
 */
export async function checkLog(path: string): Promise<LogCheck> {
  const checker = new LogChecker(runIdOf(path));
  for await (const line of readLog(path)) checker.take(line);
  return checker.end();
}
