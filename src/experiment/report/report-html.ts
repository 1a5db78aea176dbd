import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { StratagraphError } from "../../errors.ts";
import { packageFolder } from "../../own-package.ts";
import type { LeftOutLog } from "./read-runs.ts";
import { reportLeftOut, reportRun } from "./report-data.ts";
import { type CycleSummary, reportTitle, type RunSummary } from "./run-summary.ts";

/**
 * The report as one HTML file that needs nothing else: it asks no network, and its browser lets it ask none. What logs
 * say is data in it, which its script shows as text.
 *
 * @param page folder with the built script and style
 * @throws ReportPageMissingError
 */
export function* reportHtml(source: ReportSource, page = builtPage): Generator<string> {
  const { script, style } = readReportPage(page);
  const policy = [
    "default-src 'none'",
    `script-src ${hashSource(script)}`,
    `style-src ${hashSource(style)}`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
  yield `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="Stratagraph">
<title>${escaped(reportTitle(source))}</title>
<style>${style}</style>
</head>
<body>
<div id="report"></div>
<noscript>This report draws its tables and plots with JavaScript, which is off here.</noscript>
<script type="application/json" id="data">`;
  yield scriptJson(reportData(source));
  yield "</script>\n";
  yield `<script type="module">${script}</script>\n</body>\n</html>\n`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

function hashSource(script: string): string {
  return `'sha256-${createHash("sha256").update(script).digest("base64")}'`;
}

/** The page of reports was not built: in a checkout of the sources. */
export class ReportPageMissingError extends StratagraphError {
  readonly code = "report_page_missing";

  constructor(readonly file: string) {
    super(
      `Expected the page of reports at ${file}, but it is not built. Run npm run build:inspector.`,
    );
  }
}

/** Where the build puts the script and the style of the page. */
const builtPage = new URL("dist/report/", packageFolder());

/** Returns the page's script, after the licences of what is in it, and its style. */
function readReportPage(folder: URL): { readonly script: string; readonly style: string } {
  const file = new URL("report.js", folder);
  if (!existsSync(file)) throw new ReportPageMissingError(file.pathname);
  const read = (name: string) => readFileSync(new URL(name, folder), "utf8");
  const licences = read("licenses.txt").replaceAll("*/", "* /");
  const script = `/*\n${licences}\n*/\n${read("report.js")}`;
  const style = read("report.css");
  if (/<\/script|<!--/i.test(script) || /<\/style/i.test(style))
    throw new TypeError("The page's script or style would end early.");
  return { script, style };
}

/** What a report is made of. */
interface ReportSource {
  /** The title that the caller gave. */
  readonly folder: string;
  readonly madeAt: Date;
  readonly runs: readonly RunSummary[];
  readonly leftOut: readonly LeftOutLog[];
}

/** The data of the page, plain JSON. */
function reportData({ folder, madeAt, runs, leftOut }: ReportSource) {
  return {
    title: reportTitle({ folder, runs }),
    folder,
    made_at: madeAt.toISOString(),
    left_out: leftOut.map(reportLeftOut),
    runs: runs.map(reportRun),
  };
}

/** JSON that may stand in a script element: it cannot end it, nor begin a comment there. */
export function scriptJson(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[<\u2028\u2029]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

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
