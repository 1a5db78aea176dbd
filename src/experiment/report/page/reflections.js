import { longestRun, modelColour, runs } from "./data.js";
import { el, section, swatch } from "./elements.js";
import { counted, missing } from "./figures.js";
import { pager } from "./runs.js";

const cyclesShown = 20;
/** Characters and lines from which on a text is collapsed. */
const longText = 420;
const manyLines = 7;
/** Characters before what is found, in a collapsed text. */
const before = 60;

/** Runs side by side, a row a cycle; searchable, and some cycles at a time. */
export function reflections() {
  const chosen = new Set(runs.slice(0, 2).map(({ index }) => index));
  const body = el("tbody", {});
  const heads = el("tr", {});
  const found = el("p", { class: "found", role: "status" });
  const search = el("input", {
    type: "search",
    placeholder: "Search reflections",
    "aria-label": "Search reflections",
    oninput: () => update(),
  });
  const pages = pager("reflections", cyclesShown, (cycles) => {
    body.replaceChildren(...cycles.map((cycle) => row(cycle, columns(), search.value.trim())));
  });
  const columns = () => runs.filter(({ index }) => chosen.has(index));

  function update(keep = false) {
    const of = columns();
    const query = search.value.trim();
    const longest = Math.max(0, ...of.map(({ cycles }) => cycles));
    const all = Array.from({ length: longest }, (_none, index) => index);
    const matching =
      query === ""
        ? all
        : all.filter((cycle) =>
            of.some((run) => indexIn(run.reflections[cycle] ?? "", query) !== -1),
          );
    heads.closest("table")?.style.setProperty("--columns", String(of.length));
    heads.replaceChildren(
      el("th", { scope: "col", class: "cycle" }, "Cycle"),
      ...of.map((run) =>
        el(
          "th",
          { scope: "col" },
          swatch(modelColour(run)),
          run.run_id,
          el("span", { class: "about" }, `${run.model_name}, ${run.seedName}`),
        ),
      ),
    );
    found.textContent = told(of, query, matching.length, longest);
    pages.set(matching, keep);
  }

  const boxes = runs.map((run) =>
    el(
      "label",
      { class: "pick" },
      el("input", {
        type: "checkbox",
        checked: chosen.has(run.index),
        onchange: (event) => {
          if (event.currentTarget.checked) chosen.add(run.index);
          else chosen.delete(run.index);
          update(true);
        },
      }),
      swatch(modelColour(run)),
      el("span", {}, run.run_id),
    ),
  );
  update();
  return section(
    "reflections",
    "Reflections",
    longestRun === 0 ? "No cycle has ended yet." : "What each run reflected at the end of a cycle.",
    el("fieldset", { class: "picks" }, el("legend", {}, "Runs to compare"), ...boxes),
    el("div", { class: "search-bar" }, search, found),
    el(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Reflections by cycle" },
      el("table", { class: "reflections" }, el("thead", {}, heads), body),
    ),
    pages.element,
  );
}

function told(of, query, matching, longest) {
  if (of.length === 0) return "Choose a run.";
  if (query === "") return counted(longest, "cycle");
  return `${matching.toLocaleString("en")} of ${counted(longest, "cycle")}`;
}

function row(cycle, of, query) {
  return el(
    "tr",
    {},
    el(
      "th",
      { scope: "row", class: "cycle" },
      el("span", { class: "narrow-only" }, "Cycle "),
      String(cycle + 1),
    ),
    ...of.map((run) => {
      const text = run.reflections[cycle];
      const owner = el("span", { class: "owner" }, swatch(modelColour(run)), run.run_id);
      return el(
        "td",
        {},
        owner,
        text === undefined ? el("p", { class: "none" }, missing) : reflection(text, query),
      );
    }),
  );
}

/** A text; a long one opens with a button. */
function reflection(text, query) {
  const paragraph = el("p", { class: "reflection" });
  const isLong = text.length > longText || text.split("\n", manyLines + 1).length > manyLines;
  if (!isLong) {
    paragraph.append(...marked(text, query));
    return paragraph;
  }
  let open = false;
  const button = el("button", { type: "button", class: "more", onclick: () => show(!open) });
  function show(whole) {
    open = whole;
    button.textContent = whole ? "Show less" : "Show all";
    button.setAttribute("aria-expanded", String(whole));
    paragraph.classList.toggle("collapsed", !whole);
    paragraph.replaceChildren(...marked(whole ? text : excerpt(text, query), query));
  }
  show(false);
  return el("div", {}, paragraph, button);
}

/** The beginning of a text, or what is around the first place that is looked for. */
function excerpt(text, query) {
  const at = query === "" ? -1 : indexIn(text, query);
  const from = at + query.length > longText ? at - before : 0;
  return `${from > 0 ? "…" : ""}${text.slice(from, from + longText).trimEnd()}…`;
}

/** Where a text has what is looked for, whatever its case; -1 where it has not. */
function indexIn(text, query) {
  return text.toLowerCase().indexOf(query.toLowerCase());
}

/** A text as nodes, with what is looked for marked in it. */
function marked(text, query) {
  if (query === "") return [text];
  const lower = text.toLowerCase();
  const wanted = query.toLowerCase();
  // Where lower case has another length, places would be wrong.
  if (lower.length !== text.length) return [text];
  const nodes = [];
  let from = 0;
  for (let at = lower.indexOf(wanted); at !== -1; at = lower.indexOf(wanted, from)) {
    const mark = document.createElement("mark");
    mark.textContent = text.slice(at, at + wanted.length);
    nodes.push(text.slice(from, at), mark);
    from = at + wanted.length;
  }
  return [...nodes, text.slice(from)];
}
