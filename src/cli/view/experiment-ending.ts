import type { RunProgress } from "../../experiment/run-progress.ts";
import { costText, cyclesText, shortCount, spentBy, tokensText } from "./experiment-figures.ts";
import { count, duration } from "./figures.ts";
import { plainText } from "./plain-text.ts";
import type { Style } from "./style.ts";
import { tableLines, type Cell, type Column } from "./table.ts";
import { wrapText } from "./text-width.ts";

export interface ExperimentEndingOptions {
  readonly width: number;
  readonly style: Style;
  readonly elapsedMs: number;
  /** Folder of the logs, as people read it. */
  readonly logs: string;
  /** The command that goes on with runs that are not done. */
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
  const isPriced = runs.some(({ usage }) => usage.cost_usd > 0);
  const shown = columns.filter(({ title }) => isPriced || title !== "cost");
  const rows = told.map((run) => rowOf(run, style).filter((_cell, at) => isPriced || at !== 4));
  return [
    "",
    ...tableLines(shown, rows, options),
    ...(more === 0 ? [] : [style.dim(`… and ${more.toLocaleString("en")} more`)]),
    ...failed.slice(0, mostRows).flatMap((run) => failureLines(run, width, style)),
    "",
    ...wrapText(totalOf(runs, options.elapsedMs), width).map(style.dim),
    `Logs: ${plainText(options.logs)}`,
    ...(open.length === 0 ? [] : [style.yellow("To go on:"), `  ${options.again}`]),
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
    { text: costText(usage) },
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
        text: cycles_done === 0 && elapsed_ms === 0 ? "not begun" : "stopped",
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
    costText(spent.usage),
    duration(elapsedMs),
  ]
    .filter((word) => word !== "")
    .join(" · ");
}
