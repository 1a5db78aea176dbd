import { el } from "./elements.js";
import { counted, dollars, knownSum, minute, missing, sum } from "./figures.js";
import { plotSections } from "./plot-section.js";
import { reflections } from "./reflections.js";
import { distinct, runs, source } from "./data.js";
import { runDetails, runsTable } from "./runs.js";

const links = [
  ["runs", "Runs"],
  ["cycles", "By cycle"],
  ["models", "By model"],
  ["memory", "Memory"],
  ["reflections", "Reflections"],
  ["details", "Details"],
];

function header() {
  const cost = runs.length === 0 ? 0 : knownSum(runs.map((run) => run.cost));
  const made = [
    counted(runs.length, "run"),
    counted(distinct((run) => run.model_name).length, "model"),
    counted(distinct((run) => run.seed).length, "seed"),
    counted(sum(runs.map(({ cycles }) => cycles)), "cycle"),
    cost === null ? "cost unknown" : dollars(cost),
  ].filter((part) => part !== missing);
  return el(
    "header",
    {},
    el("h1", {}, source.title),
    el("p", { class: "made" }, made.join(" · ")),
    el(
      "p",
      { class: "note" },
      "Made ",
      el("time", { datetime: source.madeAt }, minute(source.madeAt)),
      " from the logs in ",
      el("code", {}, source.folder),
    ),
    leftOut(),
    el(
      "nav",
      { "aria-label": "Parts of the report", class: "parts" },
      ...links.map(([id, title]) => el("a", { href: `#${id}` }, title)),
    ),
  );
}

/** Logs that the report says nothing of, and why. */
function leftOut() {
  if (source.leftOut.length === 0) return null;
  return el(
    "div",
    { class: "notice", role: "note" },
    el("strong", {}, `${counted(source.leftOut.length, "log")} left out`),
    el(
      "ul",
      {},
      ...source.leftOut.map(({ file, reason, problem_count: count, first_problem: first }) =>
        el(
          "li",
          {},
          el("code", {}, file),
          reason === "empty"
            ? ": nothing is in it yet"
            : `: ${counted(count, "problem")}, ${first}`,
        ),
      ),
    ),
  );
}

const plots = plotSections();
document
  .querySelector("#report")
  .append(header(), el("main", {}, runsTable(), plots.element, reflections(), runDetails()));
plots.draw();
