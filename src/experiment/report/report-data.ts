import { reportTitle } from "./report-title.ts";
import { metricNames } from "./run-means.ts";
import type { LeftOutLog } from "./read-runs.ts";
import type { CycleSummary, RunSummary } from "./run-summary.ts";

/** What a report is made of. */
export interface ReportSource {
  /** As whoever asked for the report called it. */
  readonly folder: string;
  readonly madeAt: Date;
  readonly runs: readonly RunSummary[];
  readonly leftOut: readonly LeftOutLog[];
}

/** Numbers of a cycle that the page shows; each is one list a run, which is much shorter than a map a cycle. */
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

/** The data of the page, plain JSON. The cycle at index i of a list is number i + 1. */
export function reportData({ folder, madeAt, runs, leftOut }: ReportSource) {
  return {
    title: reportTitle({ folder, runs }),
    folder,
    made_at: madeAt.toISOString(),
    left_out: leftOut.map(({ file, reason, problem_count, problems: [first] }) => ({
      file,
      reason,
      problem_count,
      first_problem: first === undefined ? null : `line ${first.line}: ${first.message}`,
    })),
    runs: runs.map(({ cycles, ...run }) => ({
      ...run,
      started_at: cycles.map(({ started_at }) => started_at),
      reflections: cycles.map(({ final_reflection }) => final_reflection),
      ...Object.fromEntries(numbers.map((name) => [name, cycles.map((cycle) => cycle[name])])),
    })),
  };
}

/** JSON that may stand in a script element: it cannot end it, nor begin a comment there. */
export function scriptJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[<\u2028\u2029]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
