import type { LeftOutLog } from "./read-runs.ts";
import { type CycleSummary, metricNames, type RunSummary } from "./run-summary.ts";

/** Numbers of a cycle that reports show; each is one list a run, which is much shorter than a map a cycle. */
const numbers = [
  ...metricNames,
  "duration_ms",
  "llm_invocations",
  "tool_calls",
  "tool_errors",
  "memory_keys",
  "memory_chars",
  "tokens_in",
  "tokens_out",
  "cost_usd",
] as const satisfies readonly (keyof CycleSummary)[];

type CycleNumbers = {
  readonly [Name in (typeof numbers)[number]]: readonly CycleSummary[Name][];
};

/** A run as plain JSON. The cycle at index i of a list is number i + 1. */
export interface ReportRun extends Omit<RunSummary, "cycles">, CycleNumbers {
  /** ISO 8601, UTC. */
  readonly started_at: readonly string[];
  readonly reflections: readonly string[];
}

/** A log that a report says nothing more of, as plain JSON. */
export interface ReportLeftOut extends Pick<LeftOutLog, "file" | "reason" | "problem_count"> {
  /** With the number of its line; null where there is none. */
  readonly first_problem: string | null;
}

export function reportRun({ cycles, ...run }: RunSummary): ReportRun {
  const lists = numbers.map((name) => [name, cycles.map((cycle) => cycle[name])] as const);
  return {
    ...run,
    started_at: cycles.map(({ started_at: at }) => at),
    reflections: cycles.map(({ final_reflection: text }) => text),
    ...(Object.fromEntries(lists) as unknown as CycleNumbers),
  };
}

export function reportLeftOut({
  file,
  reason,
  problem_count,
  problems,
}: LeftOutLog): ReportLeftOut {
  const [first] = problems;
  const told = first === undefined ? null : `line ${first.line}: ${first.message}`;
  return { file, reason, problem_count, first_problem: told };
}
