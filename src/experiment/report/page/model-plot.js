import { coinciding, shiftOf } from "./coinciding.js";
import { colourOf, groupings } from "./colours.js";
import { alsoNamed, shortened } from "./cycle-plot.js";
import { axisFigure, counted, figure, median } from "./figures.js";
import { Plot } from "./plot-library.js";
import { distinct, hasPrompts } from "./report-data.js";
import { wholeTicks } from "./whole-ticks.js";

const rowHeight = 34;
const axesHeight = 48;
/** Pixels of a row in which points that coincide are set apart. */
const shiftRoom = 18;
const characterWidth = 6.6;

const rowOf = (run) => (hasPrompts ? `${run.model_name} · ${run.promptName}` : run.model_name);

/** A row a model, and a prompt where there are several; a point a run, the range and the median of each row. */
export function modelPlot({ name, title, unit }, { shown, by, width }) {
  const there = shown.filter((run) => run.means[name] !== null);
  const rows = distinct(rowOf, there);
  const letters = Math.min(Math.max(6, ...rows.map((row) => row.length)), Math.floor(width / 18));
  const spread = rows.map((row) => {
    const values = there.filter((run) => rowOf(run) === row).map((run) => run.means[name]);
    return { row, least: Math.min(...values), most: Math.max(...values), middle: median(values) };
  });
  const value = (run) => run.means[name];
  const placeOf = (run) => JSON.stringify([rowOf(run), value(run)]);
  const alike = (run) => there.filter((one) => one !== run && placeOf(one) === placeOf(run));
  const placed = coinciding(there, placeOf);
  const shifts = [...new Set(placed.map((one) => shiftOf(one, shiftRoom)))];
  return Plot.plot({
    width,
    height: Math.max(1, rows.length) * rowHeight + axesHeight,
    marginLeft: Math.ceil(letters * characterWidth) + 16,
    marginRight: 18,
    marginTop: 8,
    marginBottom: 34,
    ariaLabel: `${title} by model and seed`,
    ariaDescription: `${counted(there.length, "run")}, mean ${unit}`,
    x: {
      label: null,
      grid: true,
      zero: true,
      ...wholeTicks(Math.max(0, ...there.map(value)), Math.max(2, Math.floor(width / 110))),
      tickFormat: axisFigure,
      tickSize: 0,
    },
    y: {
      domain: rows,
      label: null,
      tickSize: 0,
      tickFormat: (row) => shortened(row, letters),
    },
    marks: [
      Plot.ruleX([0], { stroke: "var(--line)" }),
      Plot.ruleY(spread, {
        y: "row",
        x1: "least",
        x2: "most",
        stroke: "var(--muted)",
        strokeOpacity: 0.55,
      }),
      Plot.tickX(spread, {
        y: "row",
        x: "middle",
        stroke: "var(--text)",
        strokeWidth: 2,
        inset: 6,
        className: "medians",
      }),
      ...shifts.map((dy) =>
        Plot.dot(
          placed.flatMap((one) => (shiftOf(one, shiftRoom) === dy ? [one.item] : [])),
          {
            y: rowOf,
            x: value,
            dy,
            r: 4.5,
            fill: (run) => colourOf(by, groupings[by](run)),
            fillOpacity: 0.75,
            stroke: "var(--surface)",
            className: "run-dots",
          },
        ),
      ),
      Plot.tip(
        there,
        Plot.pointer({
          y: rowOf,
          x: value,
          fontSize: 12,
          maxRadius: 60,
          title: (run) =>
            `${shortened(run.run_id, 40)}${alsoNamed(alike(run))}\n${run.seedName}, ${counted(run.cycles, "cycle")}\nmean: ${figure(value(run))}`,
        }),
      ),
    ],
  });
}
