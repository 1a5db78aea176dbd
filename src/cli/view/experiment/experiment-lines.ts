import type { Experiment } from "../../../experiment/config/load-experiment.ts";
import type { RunProgress } from "../../../experiment/run-progress.ts";
import { addUsage, noUsage, type Usage } from "../../../state/usage.ts";
import { costText, count, duration } from "../figures.ts";
import { type Cell, type Column, tableLines } from "../table.ts";
import { plainText, type Style, wrapText } from "../terminal.ts";

export interface ExperimentEndingOptions {
  readonly width: number;
  readonly style: Style;
  readonly elapsedMs: number;
  /** Folder of the logs, as people read it. */
  readonly logs: string;
  /** The command that resumes unfinished runs. */
  readonly again: string;
  /** The command that compares the runs. */
  readonly report: string;
}

/** Rows of the table; those that are not done come before others when there are more runs. */
const mostRows = 40;

const columns: readonly Column[] = [
  { title: "run" },
  { title: "status" },
  { title: "cycles", align: "right" },
  { title: "tokens", align: "right", optional: 1 },
  { title: "cost", align: "right", optional: 2 },
  { title: "time", align: "right", optional: 3 },
];

/** What an experiment has come to: every run, where the logs are, and what to do next. */
export function experimentEnding(
  runs: readonly RunProgress[],
  options: ExperimentEndingOptions,
): string[] {
  const { width, style } = options;
  const failed = runs.filter(({ status }) => status === "failed");
  const open = runs.filter(({ status }) => status !== "done");
  const told = runs.length <= mostRows + 1 ? runs : [...open, ...doneOf(runs)].slice(0, mostRows);
  const more = runs.length - told.length;
  const hasCosts = runs.some(({ usage }) => usage.cost_usd !== 0);
  const shown = columns.filter(({ title }) => hasCosts || title !== "cost");
  const rows = told.map((run) => rowOf(run, style).filter((_cell, at) => hasCosts || at !== 4));
  return [
    "",
    ...tableLines(shown, rows, options),
    ...(more === 0 ? [] : [style.dim(`… and ${more.toLocaleString("en")} more`)]),
    ...failed.slice(0, mostRows).flatMap((run) => failureLines(run, width, style)),
    "",
    ...wrapText(totalOf(runs, options.elapsedMs), width).map(style.dim),
    `Logs: ${plainText(options.logs)}`,
    ...(open.length === 0 ? [] : [style.yellow("To continue:"), `  ${options.again}`]),
    "To compare the runs:",
    `  ${options.report}`,
    "",
  ];
}

function doneOf(runs: readonly RunProgress[]): readonly RunProgress[] {
  return runs.filter(({ status }) => status === "done");
}

function rowOf(run: RunProgress, style: Style): Cell[] {
  const { usage, elapsed_ms } = run;
  return [
    { text: run.run_id, paint: style.bold },
    statusCell(run, style),
    { text: cyclesText(run) },
    { text: shortCount(usage.tokens_in + usage.tokens_out) },
    { text: usage.cost_usd === null ? "unknown" : spentText(usage) },
    { text: elapsed_ms === 0 ? "" : duration(elapsed_ms) },
  ];
}

function statusCell({ status, cycles_done, elapsed_ms }: RunProgress, style: Style): Cell {
  switch (status) {
    case "done":
      return { text: "done", paint: style.green };
    case "failed":
      return { text: "failed", paint: style.red };
    default:
      return {
        text: cycles_done === 0 && elapsed_ms === 0 ? "not started" : "stopped",
        paint: style.yellow,
      };
  }
}

function failureLines({ run_id, failure }: RunProgress, width: number, style: Style): string[] {
  const text = plainText(`✗ ${run_id}: ${failure ?? "failed"}`);
  return ["", ...wrapText(text, width).map(style.red)];
}

function totalOf(runs: readonly RunProgress[], elapsedMs: number): string {
  const spent = spentBy(runs);
  const done = doneOf(runs).length;
  return [
    done === runs.length
      ? `${count(runs.length, "run")} done`
      : `${done.toLocaleString("en")} of ${count(runs.length, "run")} done`,
    `${cyclesText(spent)} cycles`,
    tokensText(spent.usage),
    spentText(spent.usage),
    duration(elapsedMs),
  ]
    .filter((word) => word !== "")
    .join(" · ");
}

/** What is about to run. */
export function experimentOpening(
  { run_id, runs, cycle_count, parallel }: Omit<Experiment, "source">,
  { width, style }: { readonly width: number; readonly style: Style },
): string[] {
  const models = [...new Set(runs.map(({ model_name }) => model_name))];
  const what = [
    count(runs.length, "run"),
    `${count(cycle_count, "cycle")}${runs.length > 1 ? " each" : ""}`,
    ...(parallel > 1 && runs.length > 1 ? [`${Math.min(parallel, runs.length)} at once`] : []),
    models.slice(0, 4).join(", ") + (models.length > 4 ? " …" : ""),
  ].join(" · ");
  return [style.bold(plainText(run_id)), ...wrapText(plainText(what), width).map(style.dim), ""];
}

/** The facts that a line shows of one run, or of all. */
export type Spent = Pick<RunProgress, "cycles_done" | "cycle_count" | "usage">;

/** What runs have done and spent together. */
export function spentBy(runs: readonly Spent[]): Spent {
  return {
    cycles_done: runs.reduce((sum, run) => sum + run.cycles_done, 0),
    cycle_count: runs.reduce((sum, run) => sum + run.cycle_count, 0),
    usage: runs.reduce((sum, run) => addUsage(sum, run.usage), noUsage),
  };
}

/** `12/1,000` */
export function cyclesText({ cycles_done: done, cycle_count: all }: Spent): string {
  return `${done.toLocaleString("en")}/${all.toLocaleString("en")}`;
}

const units = ["", "k", "M", "G", "T"];

/** `812 tokens`, `14.2k tokens`, `3.1M tokens`: in and out. */
export function tokensText({ tokens_in, tokens_out }: Usage): string {
  const tokens = tokens_in + tokens_out;
  return `${shortCount(tokens)} ${tokens === 1 ? "token" : "tokens"}`;
}

/** `812`, `14.2k`, `3.1M` */
export function shortCount(number: number): string {
  let amount = number;
  let unit = 0;
  while (amount >= (unit === 0 ? 1000 : 999.5) && unit < units.length - 1) {
    amount /= 1000;
    unit += 1;
  }
  const digits = unit === 0 || amount >= 99.95 ? 0 : 1;
  return `${amount.toFixed(digits)}${units[unit]}`;
}

/** `$0.12`, or `cost unknown`; nothing where it is 0. */
export function spentText({ cost_usd }: Usage): string {
  return cost_usd === 0 ? "" : costText(cost_usd);
}

/** `40 s left`, `12 min left`, `2 h 5 min left`, `3 d 4 h left`; nothing where it is not known. */
export function leftText(milliseconds: number | null): string {
  if (milliseconds === null) return "";
  const seconds = Math.ceil(milliseconds / 1000);
  if (seconds < 60) return `${seconds} s left`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min left`;
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return `${hours} h${beside(minutes % 60, "min")} left`;
  return `${Math.floor(hours / 24).toLocaleString("en")} d${beside(hours % 24, "h")} left`;
}

function beside(amount: number, unit: string): string {
  return amount === 0 ? "" : ` ${amount} ${unit}`;
}
