import { hasPrompts, memorySizes, metrics, modelColour, runs } from "./data.js";
import { el, section, swatch } from "./elements.js";
import { counted, dollars, duration, figure, minute, missing, sum } from "./figures.js";

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
    hint: "US dollars, of all cycles; unknown if a model has no known price",
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

const cyclesShown = 50;

const detailColumns = [
  { title: "Cycle", value: (_run, cycle) => figure(cycle + 1) },
  { title: "Began", value: (run, cycle) => minute(run.started_at[cycle]) },
  { title: "Took", value: (run, cycle) => duration(run.duration_ms[cycle]) },
  ...[
    { name: "llm_invocations", title: "Model calls" },
    { name: "tool_calls", title: "Tool calls" },
    { name: "tool_errors", title: "Failed" },
    ...metrics,
    ...memorySizes,
    { name: "tokens_in", title: "Tokens in" },
    { name: "tokens_out", title: "Tokens out" },
  ].map(({ name, title }) => ({ title, value: (run, cycle) => figure(run[name][cycle]) })),
  { title: "Cost", value: (run, cycle) => dollars(run.cost_usd[cycle]) },
];

/** Every run with what it is, and the numbers of its cycles. */
export function runDetails() {
  const all = runs.map(details);
  const openNamed = () => {
    const named = all.find(({ id }) => `#${id}` === location.hash);
    if (named === undefined) return;
    named.open = true;
    named.scrollIntoView();
  };
  addEventListener("hashchange", openNamed);
  return section("details", "Run details", "Each run with the numbers of its cycles.", ...all);
}

function details(run) {
  const content = el("div", { class: "details" });
  const element = el(
    "details",
    { id: `run-${run.index}` },
    el(
      "summary",
      {},
      swatch(modelColour(run)),
      el("strong", {}, run.run_id),
      el(
        "span",
        { class: "about" },
        [run.model_name, run.seedName, counted(run.cycles, "cycle")].join(" · "),
      ),
    ),
    content,
  );
  // Filled when it is opened, since a report may have many runs of many cycles.
  element.addEventListener("toggle", () => {
    if (element.open && content.childElementCount === 0) content.append(facts(run), ...table(run));
  });
  return element;
}

function facts(run) {
  const list = [
    ["Model", run.model_name],
    ["Seed", run.seed === null ? missing : String(run.seed)],
    ["Prompt", run.prompt_name ?? missing],
    ["Began", run.cycles === 0 ? missing : minute(run.started_at[0])],
    ["Time in cycles", duration(sum(run.duration_ms))],
    ["Tokens", figure(run.tokens)],
    ["Cost", dollars(run.cost)],
    ["Cycle under way", run.unfinished_cycle === null ? missing : String(run.unfinished_cycle)],
    ["Config hash", run.config_hash],
  ];
  return el(
    "dl",
    {},
    ...list.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))),
  );
}

function table(run) {
  const body = el("tbody", {});
  const pages = pager(`cycles of ${run.run_id}`, cyclesShown, (cycles) => {
    body.replaceChildren(
      ...cycles.map((cycle) =>
        el(
          "tr",
          {},
          ...detailColumns.map(({ value }) => el("td", { class: "number" }, value(run, cycle))),
        ),
      ),
    );
  });
  pages.set(Array.from({ length: run.cycles }, (_none, index) => index));
  const head = detailColumns.map(({ title }) => el("th", { scope: "col", class: "number" }, title));
  const label = `Cycles of ${run.run_id}`;
  return [
    el(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
      el("table", { class: "cycles" }, el("thead", {}, el("tr", {}, ...head)), body),
    ),
    pages.element,
  ];
}

/** Shows so many of some items at a time. `show` gets those of the page; nothing stands there where one page has all. */
export function pager(label, size, show) {
  let items = [];
  let page = 0;
  const pages = () => Math.max(1, Math.ceil(items.length / size));
  const number = el("input", {
    type: "number",
    min: 1,
    inputmode: "numeric",
    "aria-label": `Page of ${label}`,
    onchange: () => turn(Number(number.value) - 1),
  });
  const total = el("span", {});
  const button = (title, sign, by) =>
    el(
      "button",
      { type: "button", "aria-label": `${title} page of ${label}`, onclick: () => turn(page + by) },
      sign,
    );
  const back = button("Previous", "←", -1);
  const on = button("Next", "→", 1);
  const element = el(
    "nav",
    { class: "pager", "aria-label": `Pages of ${label}` },
    back,
    el("span", { class: "pager-place" }, "Page ", number, total),
    on,
  );

  function turn(to) {
    page = Math.min(Math.max(0, Number.isFinite(to) ? Math.round(to) : page), pages() - 1);
    element.hidden = pages() === 1;
    number.value = String(page + 1);
    number.max = String(pages());
    total.textContent = ` of ${pages().toLocaleString("en")}`;
    back.disabled = page === 0;
    on.disabled = page === pages() - 1;
    show(items.slice(page * size, (page + 1) * size));
  }

  return {
    element,
    /** Other items, from their first page on unless the page is kept. */
    set(others, keep = false) {
      items = others;
      turn(keep ? page : 0);
    },
  };
}
