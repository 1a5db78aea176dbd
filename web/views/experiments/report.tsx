import "../../styles/report.css";
import { useEffect } from "preact/hooks";
import { Compare } from "./compare.tsx";
import { formatCounted, formatDollars, knownSum, missing, sum } from "./figures.ts";
import { PlotSections } from "./plot-sections.tsx";
import { Reflections } from "./reflections.tsx";
import type { LeftOut, Report } from "./report-data.ts";
import { type RenderSteps, RunView } from "./run-view.tsx";
import { RunsTable } from "./runs-table.tsx";
import { useSelection } from "./selection.ts";

const parts = [
  ["runs", "Runs"],
  ["cycles", "By cycle"],
  ["models", "By model"],
  ["memory", "Memory"],
  ["compare", "Compare"],
  ["reflections", "Reflections"],
] as const;

/** The views of a report: all runs, or the one that is selected. */
export function ReportView({ report, renderSteps }: { report: Report; renderSteps: RenderSteps }) {
  const { query, hrefOf } = useSelection();
  const part = parts.find(([id]) => id === query["part"])?.[0];
  useEffect(() => {
    if (part !== undefined) showPart(part);
  }, [part]);
  const run = report.runs.find(({ key }) => key === query["run"]);
  if (run !== undefined)
    return (
      <div class="report">
        <RunView key={run.key} report={report} run={run} renderSteps={renderSteps} />
      </div>
    );
  return (
    <div class="report">
      <p class="made">{madeOf(report)}</p>
      {query["run"] !== undefined && (
        <p class="notice wait" role="note">
          There is no run of the address’s name here. These are all runs.
        </p>
      )}
      <LeftOutLogs logs={report.source.left_out} />
      <nav class="parts" aria-label="Parts of the report">
        {parts
          .filter(([id]) => id !== "compare" || report.runs.length > 1)
          .map(([id, title]) => (
            <a key={id} href={hrefOf({ part: id })} onClick={() => showPart(id)}>
              {title}
            </a>
          ))}
      </nav>
      <RunsTable report={report} />
      <PlotSections report={report} />
      <Compare report={report} />
      <Reflections report={report} />
    </div>
  );
}

function showPart(id: string): void {
  document.getElementById(id)?.scrollIntoView();
}

function madeOf(report: Report): string {
  const { runs } = report;
  const cost = runs.length === 0 ? 0 : knownSum(runs.map((run) => run.cost));
  return [
    formatCounted(runs.length, "run"),
    formatCounted(report.groupsBy("model").length, "model"),
    formatCounted(report.groupsBy("seed").length, "seed"),
    formatCounted(sum(runs.map(({ cycles_done: done }) => done)), "cycle"),
    cost === null ? "cost unknown" : formatDollars(cost),
  ]
    .filter((one) => one !== missing)
    .join(" · ");
}

const reasons: Readonly<Record<LeftOut["reason"], string>> = {
  empty: "nothing is in it yet",
  broken: "",
  too_large: "larger than 256 MiB; write a report on the command line",
  unreadable: "it cannot be read",
};

/** Logs that the report says nothing of, and why. */
function LeftOutLogs({ logs }: { logs: readonly LeftOut[] }) {
  if (logs.length === 0) return null;
  return (
    <div class="notice wait" role="note">
      <strong>{formatCounted(logs.length, "log")} left out</strong>
      <ul>
        {logs.map(({ file, reason, problem_count: count, first_problem: first }) => (
          <li key={file}>
            <code>{file}</code>:{" "}
            {reason === "broken" ? `${formatCounted(count, "problem")}, ${first}` : reasons[reason]}
          </li>
        ))}
      </ul>
    </div>
  );
}
