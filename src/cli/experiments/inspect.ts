import { type CliIo, UsageError } from "../io.ts";
import { readdir, stat } from "node:fs/promises";
import { extname, join, resolve } from "node:path";
import { type Clock, systemClock } from "../../clock.ts";
import { checkLog, type LogCheck, logExtension } from "../../experiment/log/log-checker.ts";
import { type LeftOutLog, readRuns, type ReadRuns } from "../../experiment/report/read-runs.ts";
import { reportCsv, reportHtml } from "../../experiment/report/report-html.ts";
import {
  meanMetrics,
  reportTitle,
  type RunSummary,
  runUsage,
} from "../../experiment/report/run-summary.ts";
import { checkConfig, type ConfigCheck } from "../agents/check-config.ts";
import { buildPagesFromSources } from "../build-pages.ts";
import { writeFileAtomic } from "../input.ts";
import { existingFile, existingFolder, displayPath } from "../load.ts";
import { printJson, printLines } from "../output.ts";
import { exitCodes } from "../report-error.ts";
import {
  configCheckLines,
  logCheckLines,
  logProblemLines,
  runTable,
} from "../view/experiment/check-lines.ts";
import { plainLine } from "../view/terminal.ts";
import { outputLayout } from "../view/values.ts";

export interface ExperimentCheckOptions {
  /** Logs, folders with logs in them, or configs (`.yaml`, `.yml`, `.json`). */
  readonly logs: readonly string[];
  readonly json?: boolean;
}

const configExtensions: readonly string[] = [".yaml", ".yml", ".json"];

/**
 * `stratagraph experiment check`: whether logs are what runs write, and configs what runs are made from. A log that a run
 * still writes, or that one was stopped in, is as it should be.
 * @throws UsageError, UnreadableLogError
 */
export async function experimentCheckCommand(
  given: ExperimentCheckOptions,
  io: CliIo,
): Promise<number> {
  const files: string[] = [];
  for (const file of given.logs) files.push(...(await filesOf(file, io.cwd)));
  const configs: { file: string; check: ConfigCheck }[] = [];
  const logs: { file: string; check: LogCheck }[] = [];
  for (const path of files) {
    const file = displayPath(path, io.cwd);
    if (isConfig(path)) configs.push({ file, check: await checkConfig(path) });
    else logs.push({ file, check: await checkLog(path) });
  }
  const ok = [...configs, ...logs].every(({ check }) => isOk(check));
  if (given.json) {
    const documents = {
      ...(configs.length > 0 && { configs: configs.map(checkJson) }),
      ...(logs.length > 0 && { logs: logs.map(checkJson) }),
    };
    printJson({ ok, ...documents }, io);
  } else {
    const view = outputLayout(io);
    const lines = [
      ...configs.flatMap(({ file, check }) => configCheckLines(file, check, view)),
      ...logs.flatMap(({ file, check }) => logCheckLines(file, check, view.style)),
    ];
    printLines(lines, io);
  }
  return ok ? exitCodes.done : exitCodes.runFailed;
}

async function filesOf(given: string, cwd: string): Promise<readonly string[]> {
  const path = resolve(cwd, given);
  const found = await stat(path).catch(() => null);
  return found?.isDirectory() ? logsIn(path, given) : [await existingFile(path, given)];
}

function isConfig(path: string): boolean {
  return configExtensions.includes(extname(path).toLowerCase());
}

function isOk({ problems }: LogCheck | ConfigCheck): boolean {
  return problems.length === 0;
}

function checkJson({ file, check }: { file: string; check: LogCheck | ConfigCheck }) {
  return { file, ok: isOk(check), ...check };
}

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
  const leftOut = read.leftOut.map((log) => ({ ...log, file: displayPath(log.file, io.cwd) }));
  const files = {
    html: given.out === undefined ? join(folder, "report.html") : resolve(io.cwd, given.out),
    csv: given.csv === undefined ? join(folder, "report.csv") : resolve(io.cwd, given.csv),
  };
  const written = read.runs.length > 0;
  if (written) {
    await buildPagesFromSources();
    const source = { folder: given.folder, madeAt: clock.now(), runs: read.runs, leftOut };
    await writeFileAtomic(files.html, asynchronous(reportHtml(source)));
    await writeFileAtomic(files.csv, asynchronous(reportCsv(read.runs)));
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
  const view = outputLayout(io);
  const shown = (path: string) => plainLine(displayPath(path, io.cwd));
  const told = leftOut.flatMap(leftOutLines);
  if (told.length > 0) io.stderr.write(told.map((line) => `${line}\n`).join(""));
  printLines(
    files === null
      ? ["No runs to report."]
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
    ? [`Skipped empty log: ${name}`]
    : [`Skipped broken log: ${name}`, ...logProblemLines(log.file, log)];
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

/**
 * The logs in a folder, in the order of their names; those below it are not looked for.
 * @param shown the folder as it was given, for the message
 * @throws UsageError when there is none
 */
async function logsIn(folder: string, shown: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const logs = entries
    .filter((entry) => entry.name.endsWith(logExtension) && !entry.isDirectory())
    .map(({ name }) => name)
    .toSorted();
  if (logs.length > 0) return logs.map((name) => join(folder, name));
  throw new UsageError(
    `There are no logs (*${logExtension}) in ${shown}. Give the folder that experiments log to.`,
    "no_logs",
  );
}
