import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { LeftOutLog } from "./read-runs.ts";
import { type CycleSummary, metricNames, reportTitle, type RunSummary } from "./run-summary.ts";

/**
 * The report as one HTML file that needs nothing else: it asks no network, and its browser lets it ask none. What logs
 * say is data in it, which its script shows as text.
 */
export function* reportHtml(source: ReportSource): Generator<string> {
  const script = pageScript();
  const style = pageStyle();
  if (/<\/script|<!--/i.test(script)) throw new TypeError("The page's script would end early.");
  const policy = [
    "default-src 'none'",
    `script-src ${hashSource(script)}`,
    // Plot puts style elements into what it draws.
    "style-src 'unsafe-inline'",
    "base-uri 'none'",
    "form-action 'none'",
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
<noscript><p class="notice">This report draws its tables and plots with JavaScript, which is off here.</p></noscript>
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

const page = new URL("./page/", import.meta.url);
const readPage = (file: string) => readFileSync(new URL(file, page), "utf8");

/** The page's script with D3 and Plot in it. Of the built package it is a file; sources are bundled as they are. */
export function pageScript(): string {
  const bundled = new URL("page.bundle.js", page);
  if (existsSync(bundled)) return readFileSync(bundled, "utf8");
  const { buildSync } = require("esbuild") as typeof import("esbuild");
  const { outputFiles } = buildSync({ ...pageBundle(fileURLToPath(page)), write: false as const });
  return outputFiles.map(({ text }) => text).join("");
}

/**
 * How the page's script is bundled, which the build does too.
 * @param folder the page's modules
 */
export function pageBundle(folder: string) {
  return {
    entryPoints: [join(folder, "main.js")],
    bundle: true,
    format: "esm" as const,
    minify: true,
    charset: "utf8" as const,
    target: "es2022",
    banner: { js: `/*\n${bundledLicences().join("\n")}*/` },
  };
}

/** Of D3, and of Plot which is made on it. */
function bundledLicences(): readonly string[] {
  const plot = require.resolve("@observablehq/plot");
  const d3 = createRequire(plot).resolve("d3");
  return [plot, d3].map((path) => readFileSync(join(dirname(path), "../LICENSE"), "utf8"));
}

const require = createRequire(import.meta.url);

/** In the order in which later rules go before earlier ones. */
const styles = ["base", "tables", "plots", "reflections", "details", "narrow", "print"];

function pageStyle(): string {
  return styles.map((name) => readPage(`${name}.css`)).join("\n");
}

/** What a report is made of. */
interface ReportSource {
  /** The title that the caller gave. */
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
function reportData({ folder, madeAt, runs, leftOut }: ReportSource) {
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
