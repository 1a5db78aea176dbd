import { modelColour } from "./colours.js";
import { el, section, swatch } from "./elements.js";
import { dollars, figure, missing } from "./figures.js";
import { hasPrompts, metrics, runs } from "./report-data.js";

const opening = 160;

/** Each column: what it is sorted by, and what stands in it. */
const columns = [
  {
    title: "Run",
    name: true,
    value: (run) => run.run_id,
    cell: (run) => [swatch(modelColour(run)), el("a", { href: `#run-${run.index}` }, run.run_id)],
  },
  { title: "Model", name: true, value: (run) => run.model_name },
  { title: "Seed", number: true, value: (run) => run.seed, cell: (run) => run.seed ?? missing },
  ...(hasPrompts ? [{ title: "Prompt", name: true, value: (run) => run.prompt_name ?? "" }] : []),
  {
    title: "Cycles",
    number: true,
    value: (run) => run.cycles,
    cell: (run) => [
      figure(run.cycles),
      run.unfinished_cycle === null
        ? null
        : el(
            "span",
            { class: "going", title: `Cycle ${run.unfinished_cycle} has not ended` },
            " +",
          ),
    ],
  },
  ...metrics.map(({ name, short, title }) => ({
    title: short,
    hint: `${title}, mean of a cycle`,
    number: true,
    value: (run) => run.means[name],
  })),
  {
    title: "keys",
    hint: "Keys in memory at the end",
    number: true,
    value: (run) => run.memory_keys.at(-1) ?? null,
  },
  {
    title: "tokens",
    hint: "Tokens in and out, of all cycles",
    number: true,
    value: (run) => run.tokens,
  },
  {
    title: "cost",
    hint: "US dollars, of all cycles; of models with a known price",
    number: true,
    value: (run) => run.cost,
    cell: (run) => dollars(run.cost),
  },
  {
    title: "Last reflection",
    wide: true,
    value: (run) => run.reflections.at(-1) ?? "",
    cell: (run) => {
      const text = (run.reflections.at(-1) ?? missing).replaceAll(/\s+/g, " ");
      const short = text.length > opening ? `${text.slice(0, opening).trimEnd()}…` : text;
      return el("div", { class: "opening" }, short);
    },
  },
];

/** One row a run; a click on a heading sorts by it, another the other way round. */
export function runsTable() {
  const body = el("tbody", {});
  const state = { column: null, down: false };
  const headings = columns.map((column) =>
    el(
      "th",
      { scope: "col", class: classOf(column), "aria-sort": "none" },
      el(
        "button",
        { type: "button", title: column.hint, onclick: () => sortBy(column) },
        column.title,
        el("span", { class: "sort-sign", "aria-hidden": "true" }),
      ),
    ),
  );

  function sortBy(column) {
    state.down = state.column === column ? !state.down : column.number === true;
    state.column = column;
    columns.forEach((other, index) => {
      const order = state.down ? "descending" : "ascending";
      headings[index].setAttribute("aria-sort", other === column ? order : "none");
    });
    draw();
  }

  function draw() {
    const { column, down } = state;
    const order = (a, b) => (down ? -1 : 1) * compare(column.value(a), column.value(b));
    body.replaceChildren(...(column === null ? runs : runs.toSorted(order)).map(row));
  }

  draw();
  return section(
    "runs",
    "Runs",
    "Metrics are means of a cycle. Keys are those in memory at the end; tokens and cost are of all cycles.",
    el(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of runs" },
      el("table", { class: "runs" }, el("thead", {}, el("tr", {}, ...headings)), body),
    ),
  );
}

function row(run) {
  return el(
    "tr",
    {},
    ...columns.map((column, index) => {
      const { value, cell = column.number ? (of) => figure(value(of)) : value } = column;
      const attributes = { class: classOf(column), title: column.name ? value(run) : null };
      return index === 0
        ? el("th", { scope: "row", ...attributes }, cell(run))
        : el("td", attributes, cell(run));
    }),
  );
}

function classOf({ number, wide, name }) {
  if (wide) return "wide";
  if (name) return "name";
  return number ? "number" : null;
}

/** What is not there comes first. */
function compare(a, b) {
  if (a === null || b === null) return Number(b === null) - Number(a === null);
  return typeof a === "number" ? a - b : a.localeCompare(b, "en", { numeric: true });
}
