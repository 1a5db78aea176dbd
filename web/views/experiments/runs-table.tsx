import type { ComponentChildren } from "preact";
import { formatDollars, formatFigure, missing } from "./figures.ts";
import { metrics, type Report, type Run } from "./report-data.ts";
import { ScrollingTable, Section, Swatch } from "./section.tsx";
import { useSelection } from "./selection.ts";

/** Characters of a reflection in the table. */
const opening = 160;

interface Column {
  /** In the address. */
  readonly id: string;
  readonly title: string;
  readonly hint?: string;
  /** A class of its cells. */
  readonly kind: "name" | "number" | "wide";
  /** What it is sorted by. */
  readonly value: (run: Run) => string | number | null;
  /** Default: the value. */
  readonly cell?: (run: Run) => ComponentChildren;
}

/** One row a run; a click on a heading sorts by it, another the other way round. */
export function RunsTable({ report }: { report: Report }) {
  const { query, set, hrefOf } = useSelection();
  const columns = columnsOf(report, hrefOf);
  const sort = query["sort"] ?? "";
  const sorted = columns.find(({ id }) => id === sort.replace(/^-/, ""));
  const isDown = sort.startsWith("-");
  const order = (a: Run, b: Run) =>
    sorted === undefined ? 0 : (isDown ? -1 : 1) * compare(sorted.value(a), sorted.value(b));
  const sortBy = ({ id, kind }: Column) => {
    const down = sorted?.id === id ? !isDown : kind === "number";
    set({ sort: `${down ? "-" : ""}${id}` });
  };
  return (
    <Section
      id="runs"
      title="Runs"
      note="Metrics are means of a cycle. Keys are those in memory at the end; tokens and cost are of all cycles."
    >
      <ScrollingTable label="Table of runs">
        <table class="runs">
          <thead>
            <tr>
              {columns.map((column) => (
                <th
                  key={column.id}
                  scope="col"
                  class={column.kind}
                  aria-sort={column !== sorted ? "none" : isDown ? "descending" : "ascending"}
                >
                  <button type="button" title={column.hint} onClick={() => sortBy(column)}>
                    {column.title}
                    <span class="sort-sign" aria-hidden="true" />
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {report.runs.toSorted(order).map((run) => (
              <tr key={run.key}>
                {columns.map((column) => {
                  const { id, kind, value, cell = shownValue(column) } = column;
                  const title = kind === "name" ? String(value(run) ?? "") : undefined;
                  return id === "run" ? (
                    <th key={id} scope="row" class={kind} title={title}>
                      {cell(run)}
                    </th>
                  ) : (
                    <td key={id} class={kind} title={title}>
                      {cell(run)}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollingTable>
    </Section>
  );
}

function shownValue({ kind, value }: Column): (run: Run) => ComponentChildren {
  return (run) => {
    const of = value(run);
    return kind === "number" && typeof of !== "string" ? formatFigure(of) : of;
  };
}

function columnsOf(
  report: Report,
  hrefOf: ReturnType<typeof useSelection>["hrefOf"],
): readonly Column[] {
  const isMixed = report.groupsBy("experiment").length > 1;
  const hasConditions = report.tellingApart("condition").length > 0;
  return [
    {
      id: "run",
      title: "Run",
      kind: "name",
      value: (run) => run.groups.run,
      cell: (run) => (
        <>
          <Swatch colour={report.modelColour(run)} />
          <a href={hrefOf({ run: run.key, cycle: null, part: null })}>{run.run_id}</a>
        </>
      ),
    },
    ...(isMixed ? [nameColumn("experiment", "Experiment")] : []),
    { id: "model", title: "Model", kind: "name", value: (run) => run.model_name },
    {
      id: "seed",
      title: "Seed",
      kind: "number",
      value: (run) => run.seed,
      cell: (run) => run.seed ?? missing,
    },
    ...(report.hasPrompts
      ? ([
          { id: "prompt", title: "Prompt", kind: "name", value: (run) => run.prompt_name ?? "" },
        ] satisfies Column[])
      : []),
    ...(hasConditions ? [nameColumn("condition", "Condition")] : []),
    {
      id: "cycles",
      title: "Cycles",
      kind: "number",
      value: (run) => run.cycles_done,
      cell: (run) => (
        <>
          {formatFigure(run.cycles_done)}
          {run.unfinished_cycle !== null && (
            <span class="going" title={`Cycle ${run.unfinished_cycle} has not ended`}>
              {" "}
              +
            </span>
          )}
        </>
      ),
    },
    ...metrics.map(({ name, short, title }): Column => ({
      id: name,
      title: short,
      hint: `${title}, mean of a cycle`,
      kind: "number",
      value: (run) => run.means[name],
    })),
    {
      id: "keys",
      title: "Keys",
      hint: "Keys in memory at the end",
      kind: "number",
      value: (run) => run.memory_keys.at(-1) ?? null,
    },
    {
      id: "tokens",
      title: "Tokens",
      hint: "Tokens in and out, of all cycles",
      kind: "number",
      value: (run) => run.tokens,
    },
    {
      id: "cost",
      title: "Cost",
      hint: "US dollars, of all cycles; unknown if a model has no known price",
      kind: "number",
      value: (run) => run.cost,
      cell: (run) => formatDollars(run.cost),
    },
    {
      id: "reflection",
      title: "Last reflection",
      kind: "wide",
      value: (run) => run.reflections.at(-1) ?? "",
      cell: (run) => {
        const text = (run.reflections.at(-1) ?? missing).slice(0, 4 * opening);
        const line = text.replaceAll(/\s+/g, " ");
        const short = line.length > opening ? `${line.slice(0, opening).trimEnd()}…` : line;
        return <div class="opening">{short}</div>;
      },
    },
  ];
}

function nameColumn(by: "experiment" | "condition", title: string): Column {
  return { id: by, title, kind: "name", value: (run) => run.groups[by] };
}

/** What is not there comes first. */
function compare(a: string | number | null, b: string | number | null): number {
  if (a === null || b === null) return Number(b === null) - Number(a === null);
  return typeof a === "number" && typeof b === "number"
    ? a - b
    : String(a).localeCompare(String(b), "en", { numeric: true });
}
