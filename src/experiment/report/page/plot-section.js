import {
  colourOf,
  groupings,
  groupsBy,
  longestRun,
  memorySizes,
  metrics,
  runs,
  tellingApart,
} from "./data.js";
import { choice, el, section, swatch } from "./elements.js";
import { cyclePlot, cyclesPerPoint, modelPlot } from "./plots.js";

const titles = { model: "Model", prompt: "Prompt", seed: "Seed", run: "Run", none: "One panel" };
/** Cycles that a line is smoothed over, and how many there are where it is worth a choice. */
const smoothings = [
  { value: 1, title: "Off", from: 0 },
  { value: 5, title: "5 cycles", from: 10 },
  { value: 20, title: "20 cycles", from: 40 },
  { value: 100, title: "100 cycles", from: 400 },
].filter(({ from }) => longestRun >= from);
/** From so many cycles on, lines are smoothed at first. */
const manyCycles = 100;
const named = (by) => ({ value: by, title: titles[by] });

/** The three parts with plots, which share their colours and what is hidden. */
export function plotSections() {
  const state = {
    by: "model",
    split: "none",
    smooth: longestRun < manyCycles ? 1 : 20,
    hidden: new Set(),
  };
  const figures = [];
  const names = el("div", { class: "legend-place" });

  function draw() {
    for (const one of figures) one.draw();
  }
  function recolour() {
    names.replaceChildren(legend(state.by, state.hidden, draw));
    draw();
  }
  const shown = () => runs.filter((run) => !state.hidden.has(groupings[state.by](run)));
  const plotted = (make, what) => {
    const made = plotFigure(what, (width) => make(what, { ...state, shown: shown(), width }));
    figures.push(made);
    return made.element;
  };

  const colours = ["model", ...tellingApart("prompt", "seed", "run")];
  const splits = tellingApart("model", "prompt", "seed");
  const controls = el(
    "div",
    { class: "controls" },
    colours.length < 2
      ? null
      : choice("Colour", colours.map(named), state.by, (by) => {
          state.by = by;
          state.hidden.clear();
          recolour();
        }),
    splits.length === 0
      ? null
      : choice("Split", ["none", ...splits].map(named), state.split, (split) => {
          state.split = split;
          draw();
        }),
    smoothings.length < 2
      ? null
      : choice("Smooth", smoothings, state.smooth, (smooth) => {
          state.smooth = smooth;
          draw();
        }),
    names,
  );
  const grid = (make, of) =>
    el("div", { class: "plots" }, ...of.map((what) => plotted(make, what)));
  const lineNote =
    cyclesPerPoint === 1
      ? "One line a run; where runs share a colour, the strong line is their mean. Lines that coincide are dashed."
      : `One line a run, each point the mean of ${cyclesPerPoint} cycles; where runs share a colour, the strong line is their mean. Lines that coincide are dashed.`;
  const sections = el(
    "div",
    { class: "plot-sections" },
    controls,
    section("cycles", "Metrics by cycle", lineNote, grid(cyclePlot, metrics)),
    section(
      "models",
      "Metrics by model and seed",
      "A point a run: its mean of a cycle. The line spans a model's runs, the bar is their median. Points that coincide are set apart.",
      grid(modelPlot, metrics),
    ),
    section(
      "memory",
      "Memory growth",
      "What is in memory at the end of each cycle.",
      grid(cyclePlot, memorySizes),
    ),
  );
  return { element: sections, draw: recolour };
}

/** A plot that is drawn as wide as there is room, and anew when that changes. */
function plotFigure({ title, unit }, make) {
  const place = el("div", { class: "plot" });
  let width = 0;
  const draw = () => {
    width = Math.floor(place.clientWidth);
    if (width === 0) return;
    const plot = make(width);
    plot.setAttribute("role", "img");
    place.replaceChildren(plot);
  };
  new ResizeObserver(() => {
    if (Math.floor(place.clientWidth) !== width) draw();
  }).observe(place);
  const caption = el("figcaption", {}, el("h3", {}, title), el("span", { class: "unit" }, unit));
  return { element: el("figure", {}, caption, place), draw };
}

/** The names of the colours; a click on one hides what has it, another shows it again. */
function legend(by, hidden, changed) {
  return el(
    "ul",
    { class: "legend", "aria-label": `Colours by ${by}` },
    ...groupsBy(by).map((group) =>
      el(
        "li",
        {},
        el(
          "button",
          {
            type: "button",
            "aria-pressed": String(!hidden.has(group)),
            title: "Show or hide",
            onclick: (event) => {
              if (!hidden.delete(group)) hidden.add(group);
              event.currentTarget.setAttribute("aria-pressed", String(!hidden.has(group)));
              changed();
            },
          },
          swatch(colourOf(by, group)),
          el("span", {}, group),
        ),
      ),
    ),
  );
}
