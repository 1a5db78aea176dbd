import { type LogCheck, LogChecker, runIdOf } from "../log/log-checker.ts";
import { type LogSource, readLog } from "../log/read-log.ts";
import { RunSummarizer, type RunSummary, type SummaryLimits } from "./run-summary.ts";

/** A log that a report says nothing more of. */
export interface LeftOutLog {
  readonly file: string;
  /**
   * `broken`: something is wrong with it. `empty`: nothing is in it yet, which is no fault. `too_large` and `unreadable`:
   * it was not read.
   */
  readonly reason: "broken" | "empty" | "too_large" | "unreadable";
  readonly problem_count: number;
  /** The first of them. */
  readonly problems: LogCheck["problems"];
}

export interface ReadRuns {
  /** By model, prompt, seed and id. */
  readonly runs: readonly RunSummary[];
  readonly leftOut: readonly LeftOutLog[];
}

/**
 * Reads logs one after the other, and keeps of each what a report needs: no prompts, and of the answers the reflections.
 * @throws UnreadableLogError
 */
export async function readRuns(files: readonly string[]): Promise<ReadRuns> {
  const runs: RunSummary[] = [];
  const leftOut: LeftOutLog[] = [];
  for (const file of files) {
    const read = await readRun(file);
    if ("reason" in read) leftOut.push(read);
    else runs.push(read);
  }
  return { runs: runs.toSorted(byVariant), leftOut };
}

/**
 * Checks and summarizes one log.
 * @throws UnreadableLogError
 */
export async function readRun(
  file: string,
  { limits = {}, ...source }: LogSource & { readonly limits?: SummaryLimits } = {},
): Promise<RunSummary | LeftOutLog> {
  const checker = new LogChecker(runIdOf(file));
  const summarizer = new RunSummarizer(limits);
  for await (const line of readLog(file, source)) {
    checker.take(line);
    if (line.kind === "entry") summarizer.take(line.entry);
  }
  const { problem_count, problems } = checker.end();
  if (problem_count > 0) return { file, reason: "broken", problem_count, problems };
  return summarizer.end() ?? { file, reason: "empty", problem_count, problems };
}

function byVariant(a: RunSummary, b: RunSummary): number {
  return (
    inOrder(a.model_name, b.model_name) ||
    inOrder(a.prompt_name ?? "", b.prompt_name ?? "") ||
    inOrder(a.seed ?? -Infinity, b.seed ?? -Infinity) ||
    inOrder(a.run_id, b.run_id)
  );
}

function inOrder<Value extends string | number>(a: Value, b: Value): number {
  return a < b ? -1 : Number(a > b);
}
