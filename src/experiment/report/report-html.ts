import { createHash } from "node:crypto";
import { pageScript, pageStyle, plotScripts } from "./page-parts.ts";
import { reportTitle } from "./report-title.ts";
import { reportData, scriptJson, type ReportSource } from "./report-data.ts";

/**
 * The report as one HTML file that needs nothing else: it asks no network, and its browser lets it ask none. What logs
 * say is data in it, which its script shows as text.
 */
export function* reportHtml(source: ReportSource): Generator<string> {
  const plots = plotScripts();
  const own = pageScript();
  const scripts = [...plots.map(({ script }) => script), own];
  const style = pageStyle();
  for (const script of scripts) {
    if (/<\/script|<!--/i.test(script))
      throw new TypeError("A script of the page would end early.");
  }
  const policy = [
    "default-src 'none'",
    `script-src ${scripts.map(hashSource).join(" ")}`,
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
  for (const { script, licence } of plots) {
    yield `<!--\n${licence.replaceAll("--", "- -")}-->\n<script>${script}</script>\n`;
  }
  yield `<script type="module">${own}</script>\n</body>\n</html>\n`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}

function hashSource(script: string): string {
  return `'sha256-${createHash("sha256").update(script).digest("base64")}'`;
}
