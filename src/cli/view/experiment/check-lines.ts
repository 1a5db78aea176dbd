import type { LogCheck, LogProblem, Unfinished } from "../../../experiment/log/log-checker.ts";
import {
  meanMetrics,
  metricNames,
  type RunSummary,
  runUsage,
} from "../../../experiment/report/run-summary.ts";
import { headOf } from "../../../values/text.ts";
import type { ConfigCheck } from "../../agents/check-config.ts";
import { count, dollars } from "../figures.ts";
import { type Column, tableLines } from "../table.ts";
import { plainLine, plainText, type Style, wrapText } from "../terminal.ts";

const metricTitles: Readonly<Record<(typeof metricNames)[number], string>> = {
  memory_ops_total: "memory calls",
  messages_to_operator: "messages",
  response_chars: "response chars",
  memory_write_chars: "written chars",
};

const columns: readonly Column[] = [
  { title: "run", least: 28 },
  { title: "model", least: 22, optional: 5 },
  { title: "seed", align: "right", optional: 4 },
  { title: "prompt", least: 8, optional: 6 },
  { title: "cycles", align: "right" },
  ...metricNames.map((name): Column => ({
    title: metricTitles[name],
    align: "right",
    optional: 2,
  })),
  { title: "keys", align: "right", optional: 3 },
  { title: "tokens", align: "right", optional: 3 },
  { title: "cost", align: "right", optional: 3 },
  { title: "last reflection", least: 16, optional: 7 },
];

/** Characters of a reflection that are looked at. */
const readCharacters = 200;
const missing = "–";

/** Experiment runs as a table, their metrics as means of a cycle. */
export function runTable(
  runs: readonly RunSummary[],
  options: { readonly width: number; readonly style: Style },
): string[] {
  const { style } = options;
  const rows = runs.map((run) => {
    const means = meanMetrics(run);
    const last = run.cycles.at(-1);
    const usage = runUsage(run);
    return [
      { text: plainLine(run.run_id), paint: style.bold },
      { text: plainLine(run.model_name) },
      { text: run.seed === null ? missing : String(run.seed) },
      { text: plainLine(run.prompt_name ?? missing) },
      { text: `${run.cycles.length}${run.unfinished_cycle === null ? "" : "+"}` },
      ...metricNames.map((name) => ({ text: figure(means?.[name]) })),
      { text: figure(last?.memory_keys) },
      { text: figure(usage === null ? undefined : usage.tokens_in + usage.tokens_out) },
      { text: costCell(usage) },
      { text: lineOf(last?.final_reflection), paint: style.dim },
    ];
  });
  return tableLines(columns, rows, options);
}

/** Nothing is shown for 0: logs of earlier versions have it for an unknown cost too. */
function costCell(usage: ReturnType<typeof runUsage>): string {
  if (usage === null || usage.cost_usd === 0) return missing;
  return usage.cost_usd === null ? "unknown" : dollars(usage.cost_usd);
}

function lineOf(reflection: string | undefined): string {
  return reflection === undefined ? missing : plainLine(headOf(reflection, readCharacters));
}

/** One digit after the point, below a hundred. */
function figure(value: number | undefined): string {
  if (value === undefined) return missing;
  return value.toLocaleString("en", { maximumFractionDigits: value >= 100 ? 0 : 1 });
}

/** One line for the config of an experiment, and one for each problem. */
export function configCheckLines(
  file: string,
  check: ConfigCheck,
  { width, style }: { readonly width: number; readonly style: Style },
): string[] {
  const { runs, cycle_count: cycles, problems } = check;
  if (problems.length > 0) {
    return [
      `${style.red(count(problems.length, "problem"))} ${plainLine(file)}`,
      ...problems.flatMap((problem) => wrapText(`  ${plainLine(problem)}`, width)),
    ];
  }
  const makes = `${count(runs.length, "run")} of ${count(cycles ?? 0, "cycle")}`;
  return [`${style.green("ok")} ${plainLine(file)} ${style.dim(`(${makes})`)}`];
}

/** One line for a log, and one for each problem that is kept of it. */
export function logCheckLines(file: string, check: LogCheck, style: Style): string[] {
  const { cycles, events, unfinished, problem_count: problems } = check;
  const found = problems === 0 ? style.green("ok") : style.red(count(problems, "problem"));
  const held = [
    count(cycles, "cycle"),
    count(events, "event"),
    ...(unfinished === null ? [] : [unfinishedText(unfinished)]),
  ];
  return [
    `${found} ${plainLine(file)} ${style.dim(`(${held.join(", ")})`)}`,
    ...logProblemLines(file, check),
  ];
}

/** `file:line: what is wrong`, one a problem. */
export function logProblemLines(
  file: string,
  check: { readonly problem_count: number; readonly problems: readonly LogProblem[] },
): string[] {
  const name = plainLine(file);
  const more = check.problem_count - check.problems.length;
  return [
    ...check.problems.map(
      ({ line, message }) => `  ${name}:${line}: ${plainText(message).replaceAll("\n", " ")}`,
    ),
    ...(more > 0 ? [`  … and ${count(more, "more problem")}`] : []),
  ];
}

function unfinishedText({ cycle_number: cycle, half_line: half }: Unfinished): string {
  const open = cycle === null ? [] : [`cycle ${cycle} unfinished`];
  return [...open, ...(half ? ["ends in a partial line"] : [])].join(", ");
}
