import { meanMetrics, metricNames } from "../../experiment/report/run-means.ts";
import { runUsage, type RunSummary } from "../../experiment/report/run-summary.ts";
import { headOf } from "../../state/cut-text.ts";
import { dollars } from "./figures.ts";
import { plainLine } from "./plain-text.ts";
import type { Style } from "./style.ts";
import { tableLines, type Column } from "./table.ts";

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
      { text: usage === null || usage.cost_usd === 0 ? missing : dollars(usage.cost_usd) },
      { text: lineOf(last?.final_reflection), paint: style.dim },
    ];
  });
  return tableLines(columns, rows, options);
}

function lineOf(reflection: string | undefined): string {
  return reflection === undefined ? missing : plainLine(headOf(reflection, readCharacters));
}

/** One digit after the point, below a hundred. */
function figure(value: number | undefined): string {
  if (value === undefined) return missing;
  return value.toLocaleString("en", { maximumFractionDigits: value >= 100 ? 0 : 1 });
}
