import type { CycleSummary, RunSummary } from "./run-summary.ts";

const runColumns = ["run_id", "model_name", "seed", "prompt_name"] as const;
const cycleColumns = [
  "cycle_number",
  "started_at",
  "duration_ms",
  "llm_invocations",
  "tool_calls",
  "tool_errors",
  "memory_ops_total",
  "messages_to_operator",
  "response_chars",
  "memory_write_chars",
  "memory_keys",
  "memory_chars",
  "tokens_in",
  "tokens_out",
  "cost_usd",
  "final_reflection",
] as const satisfies readonly (keyof CycleSummary)[];

/** What a program for spreadsheets takes for the beginning of a formula, also in full width, or skips to find one. */
const formulaStart = /^[\s\p{Cc}\u200b\ufeff]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/u;

/**
 * One row a run and cycle, under a row of names, as RFC 4180 has it: lines end in CR LF. Null is an empty cell. A text
 * that a spreadsheet would take for a formula has an apostrophe put before it.
 */
export function* reportCsv(runs: readonly RunSummary[]): Generator<string> {
  yield line([...runColumns, ...cycleColumns]);
  for (const run of runs) {
    const ofRun = runColumns.map((name) => run[name]);
    for (const cycle of run.cycles) {
      yield line([...ofRun, ...cycleColumns.map((name) => cycle[name])]);
    }
  }
}

function line(values: readonly (string | number | null)[]): string {
  return `${values.map(cell).join(",")}\r\n`;
}

function cell(value: string | number | null): string {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const safe = formulaStart.test(value) ? `'${value}` : value;
  return /[",\r\n]|^\s|\s$/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
