import { join, resolve } from "node:path";
import { systemClock, type Clock } from "../clock.ts";
import { readRuns, type LeftOutLog, type ReadRuns } from "../experiment/report/read-runs.ts";
import { reportCsv } from "../experiment/report/report-csv.ts";
import { reportHtml } from "../experiment/report/report-html.ts";
import { meanMetrics } from "../experiment/report/run-means.ts";
import { reportTitle } from "../experiment/report/report-title.ts";
import { runUsage, type RunSummary } from "../experiment/report/run-summary.ts";
import { existingFolder } from "./existing-file.ts";
import { logsIn } from "./experiment-logs.ts";
import type { CliIo } from "./io.ts";
import { printJson, printLines } from "./print.ts";
import { exitCodes } from "./report-error.ts";
import { shownPath } from "./shown-path.ts";
import { logProblemLines } from "./view/log-check-lines.ts";
import { plainLine } from "./view/plain-text.ts";
import { runTable } from "./view/run-table.ts";
import { viewOf } from "./view/view-of.ts";
import { writeWhole } from "./write-whole.ts";

export interface ExperimentReportOptions {
  /** With a log a run. */
  readonly folder: string;
  /** HTML file to write or replace; `report.html` in the folder where it is left out. */
  readonly out?: string;
  /** As `out`, for `report.csv`. */
  readonly csv?: string;
  readonly json?: boolean;
}

/**
 * `stratagraph experiment report`: compares the runs of a folder in a table, an HTML file and a CSV file. Broken logs are
 * named and left out; where no run is left, nothing is written.
 * @throws UsageError, UnreadableLogError, OutputFileError
 */
export async function experimentReportCommand(
  given: ExperimentReportOptions,
  io: CliIo,
  clock: Pick<Clock, "now"> = systemClock,
): Promise<number> {
  const folder = await existingFolder(resolve(io.cwd, given.folder), given.folder);
  const read = await readRuns(await logsIn(folder, given.folder));
  const leftOut = read.leftOut.map((log) => ({ ...log, file: shownPath(log.file, io.cwd) }));
  const files = {
    html: given.out === undefined ? join(folder, "report.html") : resolve(io.cwd, given.out),
    csv: given.csv === undefined ? join(folder, "report.csv") : resolve(io.cwd, given.csv),
  };
  const written = read.runs.length > 0;
  if (written) {
    const source = { folder: given.folder, madeAt: clock.now(), runs: read.runs, leftOut };
    await writeWhole(files.html, asynchronous(reportHtml(source)));
    await writeWhole(files.csv, asynchronous(reportCsv(read.runs)));
  }
  if (given.json) printJson(reportJson({ ...read, leftOut }, written ? files : null), io);
  else {
    const title = reportTitle({ folder, runs: read.runs });
    printReport({ ...read, leftOut }, { title, files: written ? files : null }, io);
  }
  const isBroken = leftOut.some(({ reason }) => reason === "broken");
  return isBroken || !written ? exitCodes.runFailed : exitCodes.done;
}

interface ReportFiles {
  readonly html: string;
  readonly csv: string;
}

function printReport(
  { runs, leftOut }: ReadRuns,
  { title, files }: { readonly title: string; readonly files: ReportFiles | null },
  io: CliIo,
): void {
  const view = viewOf(io);
  const shown = (path: string) => plainLine(shownPath(path, io.cwd));
  const told = leftOut.flatMap(leftOutLines);
  if (told.length > 0) io.stderr.write(told.map((line) => `${line}\n`).join(""));
  printLines(
    files === null
      ? ["No run to report."]
      : [
          view.style.bold(plainLine(title)),
          "",
          ...runTable(runs, view),
          "",
          view.style.dim(`Report: ${shown(files.html)}`),
          view.style.dim(`CSV:    ${shown(files.csv)}`),
        ],
    io,
  );
}

function leftOutLines(log: LeftOutLog): string[] {
  const name = plainLine(log.file);
  return log.reason === "empty"
    ? [`Left out, since nothing is in it yet: ${name}`]
    : [`Left out, since it is broken: ${name}`, ...logProblemLines(log.file, log)];
}

function reportJson({ runs, leftOut }: ReadRuns, files: ReportFiles | null) {
  return {
    ok: leftOut.every(({ reason }) => reason === "empty") && runs.length > 0,
    files,
    runs: runs.map(runJson),
    left_out: leftOut,
  };
}

function runJson(run: RunSummary) {
  const { cycles, ...rest } = run;
  const last = cycles.at(-1);
  return {
    ...rest,
    cycles_done: cycles.length,
    mean_metrics: meanMetrics(run),
    usage: runUsage(run),
    memory_keys: last?.memory_keys ?? null,
    memory_chars: last?.memory_chars ?? null,
    last_reflection: last?.final_reflection ?? null,
  };
}

async function* asynchronous(parts: Iterable<string>): AsyncGenerator<string> {
  yield* parts;
}
