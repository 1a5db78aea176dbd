import type { ComponentChildren } from "preact";
import { formatDuration } from "../../components/format.ts";
import { formatDollars, formatFigure, formatMinute, missing, sum } from "./figures.ts";
import { memorySizes, metrics, type Report, type Run } from "./report-data.ts";
import { Reflection } from "./reflections.tsx";
import { Pager, ScrollingTable, Section, Swatch, usePager } from "./section.tsx";
import { useSelection } from "./selection.ts";

const cyclesShown = 50;

const columns: readonly {
  readonly title: string;
  readonly value: (run: Run, cycle: number) => string;
}[] = [
  { title: "Began", value: (run, cycle) => formatMinute(run.started_at[cycle] ?? "") },
  { title: "Took", value: (run, cycle) => formatDuration(run.duration_ms[cycle]) },
  ...(
    [
      { name: "llm_invocations", title: "Model calls" },
      { name: "tool_calls", title: "Tool calls" },
      { name: "tool_errors", title: "Failed" },
      ...metrics,
      ...memorySizes,
      { name: "tokens_in", title: "Tokens in" },
      { name: "tokens_out", title: "Tokens out" },
    ] as const
  ).map(({ name, title }) => ({
    title,
    value: (run: Run, cycle: number) => formatFigure(run[name][cycle]),
  })),
  { title: "Cost", value: (run, cycle) => formatDollars(run.cost_usd[cycle]) },
];

/** Shows what was logged in a cycle; null in a report, whose file has no prompts and calls. */
export type RenderSteps = ((run: Run, cycle: number) => ComponentChildren) | null;

/** A run: what it is, the figures of its cycles, and one cycle. */
export function RunView({
  report,
  run,
  renderSteps,
}: {
  report: Report;
  run: Run;
  renderSteps: RenderSteps;
}) {
  const { query, hrefOf } = useSelection();
  const number = Number(query["cycle"] ?? 0);
  const isOpen = Number.isInteger(number) && number >= 1;
  return (
    <>
      <p class="back">
        <a href={hrefOf({ run: null, cycle: null })}>← All runs</a>
        {isOpen && (
          <>
            {" · "}
            <a href={hrefOf({ run: run.key, cycle: null })}>All cycles of {run.run_id}</a>
          </>
        )}
      </p>
      {isOpen ? (
        <Cycle run={run} cycle={number - 1} renderSteps={renderSteps} />
      ) : (
        <Section id="run" title={run.groups.run}>
          <p class="note">
            <Swatch colour={report.modelColour(run)} />
            {run.groups.condition}, {run.groups.seed}
          </p>
          <Facts run={run} />
          <Cycles run={run} />
        </Section>
      )}
    </>
  );
}

function Facts({ run }: { run: Run }) {
  const options = Object.entries(run.model_options);
  const facts: readonly (readonly [string, string])[] = [
    ["Model", run.model_name],
    ["Seed", run.seed === null ? missing : String(run.seed)],
    ["Prompt", run.prompt_name ?? missing],
    ["Began", run.started_at[0] === undefined ? missing : formatMinute(run.started_at[0])],
    ["Time in cycles", formatDuration(sum(run.duration_ms))],
    ["Tokens", formatFigure(run.tokens)],
    ["Cost", formatDollars(run.cost)],
    ["Cycle under way", run.unfinished_cycle === null ? missing : String(run.unfinished_cycle)],
    ["Options", options.map(([name, value]) => `${name} ${value}`).join(", ") || missing],
    ["Config hash", run.config_hash],
  ];
  return (
    <dl class="run-facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Cycles({ run }: { run: Run }) {
  const { hrefOf } = useSelection();
  const pager = usePager(
    Array.from({ length: run.cycles }, (_none, index) => index),
    cyclesShown,
  );
  const label = `cycles of ${run.run_id}`;
  return (
    <>
      {run.cycles_done > run.cycles && (
        <p class="notice" role="note">
          The first {run.cycles.toLocaleString("en")} of {run.cycles_done.toLocaleString("en")}{" "}
          cycles are shown, and sums and means are of these. A report on the command line has all.
        </p>
      )}
      <ScrollingTable label={`Cycles of ${run.run_id}`}>
        <table class="cycles">
          <thead>
            <tr>
              <th scope="col">Cycle</th>
              {columns.map(({ title }) => (
                <th key={title} scope="col" class="number">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {pager.shown.map((cycle) => (
              <tr key={cycle}>
                <th scope="row">
                  <a href={hrefOf({ run: run.key, cycle: cycle + 1 })}>{formatFigure(cycle + 1)}</a>
                </th>
                {columns.map(({ title, value }) => (
                  <td key={title} class="number">
                    {value(run, cycle)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollingTable>
      <Pager label={label} {...pager} />
    </>
  );
}

function Cycle({ run, cycle, renderSteps }: { run: Run; cycle: number; renderSteps: RenderSteps }) {
  const { hrefOf } = useSelection();
  const text = run.reflections[cycle];
  const isPast = run.started_at[cycle] !== undefined;
  return (
    <Section id="cycle" title={`${run.groups.run}, cycle ${formatFigure(cycle + 1)}`}>
      <p class="note">
        {cycle > 0 && <a href={hrefOf({ run: run.key, cycle })}>Cycle before</a>}
        {cycle > 0 && cycle + 1 < run.cycles && " · "}
        {cycle + 1 < run.cycles && (
          <a href={hrefOf({ run: run.key, cycle: cycle + 2 })}>Cycle after</a>
        )}
      </p>
      {isPast && (
        <dl class="run-facts">
          {columns.map(({ title, value }) => (
            <div key={title}>
              <dt>{title}</dt>
              <dd>{value(run, cycle)}</dd>
            </div>
          ))}
        </dl>
      )}
      {renderSteps === null ? (
        <>
          <h3>Reflection</h3>
          {text === undefined ? <p class="faint">{missing}</p> : <Reflection text={text} />}
          <p class="note">
            A report has no prompts and calls. Run <code>stratagraph dev</code> on the folder of the
            logs to see them in its inspector.
          </p>
        </>
      ) : (
        renderSteps(run, cycle)
      )}
    </Section>
  );
}
