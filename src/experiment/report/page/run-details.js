import { modelColour } from "./colours.js";
import { el, section, swatch } from "./elements.js";
import { counted, dollars, duration, figure, minute, missing, sum } from "./figures.js";
import { pager } from "./pager.js";
import { memorySizes, metrics, runs } from "./report-data.js";

const cyclesShown = 50;

const columns = [
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
          ...columns.map(({ value }) => el("td", { class: "number" }, value(run, cycle))),
        ),
      ),
    );
  });
  pages.set(Array.from({ length: run.cycles }, (_none, index) => index));
  const head = columns.map(({ title }) => el("th", { scope: "col", class: "number" }, title));
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
