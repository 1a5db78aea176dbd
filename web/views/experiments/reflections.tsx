import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { TypedField } from "../../components/typed-field.tsx";
import { formatCounted, missing } from "./figures.ts";
import type { Report, Run } from "./report-data.ts";
import { Pager, ScrollingTable, Section, Swatch, usePager } from "./section.tsx";
import { joinNames, splitNames, useSelection } from "./selection.ts";

const cyclesShown = 20;
/** Characters and lines from which on a text is collapsed. */
const longText = 420;
const manyLines = 7;
/** Characters before what is found, in a collapsed text. */
const before = 60;

/** Runs side by side, a row a cycle; searchable, and some cycles at a time. */
export function Reflections({ report }: { report: Report }) {
  const { query, set } = useSelection();
  const chosen = new Set(
    query["read"] === undefined
      ? report.runs.slice(0, 2).map(({ key }) => key)
      : splitNames(query["read"]),
  );
  const text = (query["find"] ?? "").trim();
  const runs = report.runs.filter(({ key }) => chosen.has(key));
  const longest = runs.reduce((most, { cycles }) => Math.max(most, cycles), 0);
  const all = Array.from({ length: longest }, (_none, index) => index);
  const matching =
    text === ""
      ? all
      : all.filter((cycle) => runs.some((run) => indexIn(run.reflections[cycle] ?? "", text) >= 0));
  const pager = usePager(matching, cyclesShown);
  const toggle = (key: string) => {
    if (!chosen.delete(key)) chosen.add(key);
    set({ read: joinNames([...chosen]) || "none" });
  };
  return (
    <Section
      id="reflections"
      title="Reflections"
      note={
        report.longest === 0
          ? "No cycle has ended yet."
          : "What each run reflected at the end of a cycle."
      }
    >
      <fieldset class="picks">
        <legend>Runs to compare</legend>
        {report.runs.map((run) => (
          <label key={run.key} class="pick">
            <input type="checkbox" checked={chosen.has(run.key)} onChange={() => toggle(run.key)} />
            <Swatch colour={report.modelColour(run)} />
            <span>{run.groups.run}</span>
          </label>
        ))}
      </fieldset>
      <div class="search-bar">
        <TypedField
          label="Search reflections"
          value={query["find"] ?? ""}
          onChange={(find) => set({ find })}
        />
        <p class="found" role="status">
          {foundText(runs.length, { text, found: matching.length, longest })}
        </p>
      </div>
      <ScrollingTable label="Reflections by cycle">
        <table class="reflections" style={{ "--columns": runs.length }}>
          <thead>
            <tr>
              <th scope="col" class="cycle">
                Cycle
              </th>
              {runs.map((run) => (
                <th key={run.key} scope="col">
                  <Swatch colour={report.modelColour(run)} />
                  {run.groups.run}
                  <span class="about">
                    {run.model_name}, {run.groups.seed}
                  </span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {pager.shown.map((cycle) => (
              <tr key={cycle}>
                <th scope="row" class="cycle">
                  <span class="narrow-only">Cycle </span>
                  {cycle + 1}
                </th>
                {runs.map((run) => (
                  <td key={run.key}>
                    <span class="owner">
                      <Swatch colour={report.modelColour(run)} />
                      {run.groups.run}
                    </span>
                    <OfCycle run={run} cycle={cycle} query={text} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollingTable>
      <Pager label="reflections" {...pager} />
    </Section>
  );
}

function OfCycle({ run, cycle, query }: { run: Run; cycle: number; query: string }) {
  const text = run.reflections[cycle];
  if (text === undefined) return <p class="faint">{missing}</p>;
  // Another query shows another part of a long text.
  return <Reflection key={query} text={text} query={query} />;
}

function foundText(
  runs: number,
  { text, found, longest }: { text: string; found: number; longest: number },
): string {
  if (runs === 0) return "Choose a run.";
  if (text === "") return formatCounted(longest, "cycle");
  return `${found.toLocaleString("en")} of ${formatCounted(longest, "cycle")}`;
}

/** A text; a long one opens with a button. */
export function Reflection({ text, query = "" }: { text: string; query?: string }) {
  const [isWhole, setWhole] = useState(false);
  const isLong = text.length > longText || text.split("\n", manyLines + 1).length > manyLines;
  if (!isLong)
    return (
      <p class="reflection" dir="auto">
        {marked(text, query)}
      </p>
    );
  return (
    <div>
      <p class={`reflection${isWhole ? "" : " collapsed"}`} dir="auto">
        {marked(isWhole ? text : excerpt(text, query), query)}
      </p>
      <button
        type="button"
        class="button small plain more"
        aria-expanded={isWhole}
        onClick={() => setWhole(!isWhole)}
      >
        {isWhole ? "Show less" : "Show all"}
      </button>
    </div>
  );
}

/** The beginning of a text, or what is around the first place of a query. */
function excerpt(text: string, query: string): string {
  const at = query === "" ? -1 : indexIn(text, query);
  const from = at + query.length > longText ? at - before : 0;
  return `${from > 0 ? "…" : ""}${text.slice(from, from + longText).trimEnd()}…`;
}

/** Where a text has a query, whatever its case; -1 where it has not. */
function indexIn(text: string, query: string): number {
  return text.toLowerCase().indexOf(query.toLowerCase());
}

/** A text with the places of a query marked in it. */
function marked(text: string, query: string): ComponentChildren {
  const lower = text.toLowerCase();
  const wanted = query.toLowerCase();
  // Where lower case has another length, places would be wrong.
  if (query === "" || lower.length !== text.length) return text;
  const parts: ComponentChildren[] = [];
  let from = 0;
  for (let at = lower.indexOf(wanted); at !== -1; at = lower.indexOf(wanted, from)) {
    parts.push(text.slice(from, at), <mark>{text.slice(at, at + wanted.length)}</mark>);
    from = at + wanted.length;
  }
  return [...parts, text.slice(from)];
}
