import * as Plot from "@observablehq/plot";
import { colourOf, distinct, groupings, groupsBy, hasPrompts, longestRun } from "./data.js";
import {
  axisFigure,
  coinciding,
  counted,
  dashesOf,
  figure,
  median,
  shiftOf,
  wholeTicks,
} from "./figures.js";

const panelHeight = 190;
const splitHeight = 116;
const axesHeight = 52;
/** From so many lines on, they are thinner. */
const manyLines = 12;
/** Runs that a tip names beside the one that is pointed at. */
const namedAlike = 4;
/** Up to so many points a line, each is marked. */
const markedPoints = 40;

/** One line a run over its cycles; where several runs have a colour, their mean stands out. */
export function cyclePlot({ name, title, unit }, { shown, by, split, smooth, width }) {
  const lines = shown.map((run) => series(run, name, smooth)).filter((line) => line.length > 0);
  const points = lines.flat();
  const groupOf = groupings[by];
  const panelOf = split === "none" ? () => "" : groupings[split];
  const panels =
    split === "none"
      ? [""]
      : groupsBy(split).filter((one) => shown.some((run) => panelOf(run) === one));
  const means = meanLines(lines, groupOf, panelOf);
  const faint = means.length > 0;
  const place = {
    x: "cycle",
    y: "value",
    ...(split === "none" ? {} : { fy: ({ run }) => panelOf(run) }),
  };
  const stroke = ({ run }) => colourOf(by, groupOf(run));
  const ofMean = { x: "cycle", y: "value", z: "key", ...(split === "none" ? {} : { fy: "panel" }) };
  const marked = longestRun <= markedPoints && !faint;
  // A line of one point cannot be seen.
  const dots = lines.filter((line) => marked || line.length === 1).flat();
  const most = points.reduce((highest, { value }) => Math.max(highest, value), 0);
  const plot = Plot.plot({
    width,
    height:
      panels.length === 1 ? panelHeight + axesHeight : panels.length * splitHeight + axesHeight,
    marginLeft: 46,
    marginRight: 12,
    marginTop: 14,
    marginBottom: 34,
    ariaLabel: `${title} by cycle`,
    ariaDescription: `${counted(lines.length, "run")}, ${unit}`,
    x: {
      domain: longestRun > 1 ? [1, longestRun] : [0.5, 1.5],
      label: "cycle",
      labelArrow: "none",
      labelAnchor: "center",
      ticks: Math.min(longestRun, Math.max(2, Math.floor(width / 80))),
      tickFormat: (value) => (Number.isInteger(value) ? value.toLocaleString("en") : ""),
      tickSize: 0,
    },
    y: {
      label: null,
      grid: true,
      zero: true,
      ...wholeTicks(most, panels.length === 1 ? 5 : 3),
      tickFormat: axisFigure,
      tickSize: 0,
    },
    fy: { domain: panels, axis: null, padding: 0.26 },
    marks: [
      Plot.ruleY([0], { stroke: "var(--line)" }),
      panels.length > 1
        ? Plot.text(panels, {
            fy: (panel) => panel,
            text: (panel) => shortened(panel, Math.floor(width / 9)),
            frameAnchor: "top-left",
            dx: 4,
            dy: -7,
            fill: "var(--muted)",
            stroke: "var(--surface)",
            strokeWidth: 4,
          })
        : null,
      Plot.line(points, {
        ...place,
        z: ({ run }) => run.index,
        stroke,
        ...strokeOf(lines.length, faint),
        strokeLinejoin: "round",
        className: "run-lines",
        ariaLabel: ({ run }) => run.run_id,
      }),
      Plot.dot(dots, { ...place, fill: stroke, r: 1.75 }),
      Plot.line(means, {
        ...ofMean,
        stroke: ({ group }) => colourOf(by, group),
        strokeWidth: 2.25,
        strokeLinejoin: "round",
        className: "mean-lines",
      }),
      Plot.tip(
        points,
        Plot.pointer({
          ...place,
          title: (point) => tipText(point, smooth, alikeAt(points, point, panelOf)),
          fontSize: 12,
          maxRadius: 60,
        }),
      ),
    ],
  });
  dashCoinciding(plot, lines, panelOf);
  plot.addEventListener("input", () => stress(plot, plot.value?.run));
  return plot;
}

/** Lines give way to the means of their colour, and to each other where there are many. */
function strokeOf(lines, faint) {
  if (faint) return { strokeWidth: 1, strokeOpacity: 0.38 };
  return lines > manyLines
    ? { strokeWidth: 1.25, strokeOpacity: 0.6 }
    : { strokeWidth: 1.75, strokeOpacity: 0.95 };
}

/** Draws lines that coincide as dashes in each other's gaps, so that every colour of them is seen. */
function dashCoinciding(plot, lines, panelOf) {
  const placed = coinciding(lines, (line) =>
    JSON.stringify([panelOf(line[0].run), ...line.map(({ value }) => value)]),
  );
  const dashes = new Map(placed.map((one) => [one.item[0].run.run_id, dashesOf(one)]));
  for (const path of plot.querySelectorAll(".run-lines path")) {
    const own = dashes.get(path.getAttribute("aria-label")) ?? null;
    if (own === null) continue;
    path.setAttribute("stroke-dasharray", own.array);
    path.setAttribute("stroke-dashoffset", String(own.offset));
    // Faint lines would be none with most of them left out.
    path.setAttribute("stroke-opacity", "0.95");
  }
}

/** The other runs that have a point in the same place. */
function alikeAt(points, { run, cycle, value }, panelOf) {
  return points.flatMap((other) =>
    other.run !== run &&
    other.cycle === cycle &&
    other.value === value &&
    panelOf(other.run) === panelOf(run)
      ? [other.run]
      : [],
  );
}

/** Lets the line stand out that is pointed at. */
function stress(plot, run) {
  for (const line of plot.querySelectorAll(".run-lines path")) {
    line.classList.toggle("pointed", line.getAttribute("aria-label") === run?.run_id);
  }
}

/** The mean line of every colour and panel that has more than one run, and more than one cycle. */
function meanLines(lines, groupOf, panelOf) {
  const alike = new Map();
  for (const line of lines) {
    const { run } = line[0];
    const key = JSON.stringify([groupOf(run), panelOf(run)]);
    alike.set(key, [...(alike.get(key) ?? []), line]);
  }
  return [...alike].flatMap(([key, together]) => {
    if (together.length < 2) return [];
    const [group, panel] = JSON.parse(key);
    return meanSeries(together).map((point) => ({ ...point, key, group, panel }));
  });
}

function tipText({ run, from, to, value }, smooth, alike) {
  const cycles = from === to ? `cycle ${from}` : `cycles ${from}–${to}, mean`;
  const when = smooth > 1 ? `${cycles}, smoothed` : cycles;
  return `${shortened(run.run_id, 40)}${alsoNamed(alike)}\n${shortened(run.model_name, 40)}, ${run.seedName}\n${when}: ${figure(value)}`;
}

/** Names of runs that are in the same place, the first few. */
function alsoNamed(runs) {
  const named = runs.slice(0, namedAlike).map(({ run_id: id }) => `\nand ${shortened(id, 36)}`);
  const more = runs.length - named.length;
  return named.join("") + (more > 0 ? `\nand ${more} more` : "");
}

function shortened(text, length) {
  return text.length > length ? `${text.slice(0, Math.max(1, length - 1))}…` : text;
}

const rowHeight = 34;
const modelAxesHeight = 48;
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
    height: Math.max(1, rows.length) * rowHeight + modelAxesHeight,
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

/** Points of a line; more would be closer together than a screen shows. */
const mostPoints = 200;

/** Cycles that one point of a line stands for. */
export const cyclesPerPoint = Math.max(1, Math.ceil(longestRun / mostPoints));

/**
 * A run's numbers by cycle, each the mean of so many cycles around it; where there are too many points, the means of so
 * many cycles each.
 */
function series(run, name, smooth = 1) {
  const values = smooth > 1 ? smoothed(run[name], smooth) : run[name];
  const points = [];
  for (let from = 0; from < values.length; from += cyclesPerPoint) {
    const to = Math.min(from + cyclesPerPoint, values.length);
    let total = 0;
    for (let index = from; index < to; index += 1) total += values[index];
    points.push({
      run,
      from: from + 1,
      to,
      cycle: (from + 1 + to) / 2,
      value: total / (to - from),
    });
  }
  return points;
}

/** Near an end, the mean of the cycles that are there. */
function smoothed(values, width) {
  const sums = [0];
  for (const value of values) sums.push(sums.at(-1) + value);
  const before = Math.floor((width - 1) / 2);
  return values.map((_value, index) => {
    const from = Math.max(0, index - before);
    const to = Math.min(values.length, index - before + width);
    return (sums[to] - sums[from]) / (to - from);
  });
}

/** The mean of several lines, at every point that any of them has. */
function meanSeries(lines) {
  const longest = lines.toSorted((a, b) => b.length - a.length)[0] ?? [];
  return longest.map(({ cycle, from, to }, index) => {
    const values = lines.flatMap((line) => (line[index] === undefined ? [] : [line[index].value]));
    return { cycle, from, to, value: values.reduce((a, b) => a + b, 0) / values.length };
  });
}
