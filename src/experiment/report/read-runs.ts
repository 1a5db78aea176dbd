import { type LogCheck, LogChecker, runIdOf } from "../log/log-checker.ts";
import { readLog } from "../log/read-log.ts";
import { RunSummarizer, type RunSummary } from "./run-summary.ts";

/** A log that a report says nothing more of. */
export interface LeftOutLog {
  readonly file: string;
  /** `broken`: something is wrong with it. `empty`: nothing is in it yet, which is no fault. */
  readonly reason: "broken" | "empty";
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
    const checker = new LogChecker(runIdOf(file));
    const summarizer = new RunSummarizer();
    for await (const line of readLog(file)) {
      checker.take(line);
      if (line.kind === "entry") summarizer.take(line.entry);
    }
    const { problem_count, problems } = checker.end();
    const run = summarizer.end();
    if (problem_count > 0) leftOut.push({ file, reason: "broken", problem_count, problems });
    else if (run === null) leftOut.push({ file, reason: "empty", problem_count, problems });
    else runs.push(run);
  }
  return { runs: runs.toSorted(byVariant), leftOut };
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
