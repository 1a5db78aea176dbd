import { median } from "d3-array";
import { useMemo } from "preact/hooks";
import { alsoNamed } from "./cycle-plot.tsx";
import {
  coinciding,
  formatAxis,
  formatCounted,
  formatFigure,
  shiftOf,
  wholeTicks,
} from "./figures.ts";
import { type Drawing, Plot, type PlotPoint, shorten } from "./plot.tsx";
import type { Grouping, Metric, Report, Run } from "./report-data.ts";

const rowHeight = 34;
const space = { right: 18, top: 8, bottom: 28 };
/** Pixels of a row in which points that coincide are set apart. */
const shiftRoom = 18;
const characterWidth = 6.6;

interface ModelPlotProps {
  readonly report: Report;
  readonly measure: Metric;
  readonly shown: readonly Run[];
  readonly by: Grouping;
}

/** A row a condition; a point a run, the range and the median of each row. */
export function ModelPlot(props: ModelPlotProps) {
  const { report, measure, shown, by } = props;
  const draw = useMemo(() => drawing(props), [report, measure, shown, by]);
  return (
    <Plot
      title={measure.title}
      unit={measure.unit}
      label={`${measure.title} by model and seed`}
      description={`${formatCounted(shown.length, "run")}, mean ${measure.unit}`}
      draw={draw}
    />
  );
}

function drawing({ report, measure, shown, by }: ModelPlotProps) {
  const there = shown.flatMap((run) => {
    const value = run.means[measure.name];
    return value === null ? [] : [{ run, row: run.groups.condition, value }];
  });
  const rows = [...new Set(there.map(({ row }) => row))];
  return (width: number): Drawing => {
    const letters = Math.min(Math.max(6, ...rows.map((row) => row.length)), Math.floor(width / 18));
    const left = Math.ceil(letters * characterWidth) + 16;
    const room = Math.max(1, width - left - space.right);
    const most = there.reduce((top, { value }) => Math.max(top, value), 0);
    const { end, ticks } = wholeTicks(most, Math.max(2, Math.floor(width / 110)));
    const x = (value: number) => left + (value / end) * room;
    const y = (row: string) => space.top + (rows.indexOf(row) + 0.5) * rowHeight;
    const bottom = space.top + Math.max(1, rows.length) * rowHeight;
    const placed = coinciding(there, ({ row, value }) => JSON.stringify([row, value]));
    const points = placed.map((one) => {
      const { run, row, value } = one.item;
      const alike = there.filter(
        (two) => two.run !== run && two.row === row && two.value === value,
      );
      return {
        x: x(value),
        y: y(row) + shiftOf(one, shiftRoom),
        run: run.key,
        colour: report.colourOf(by, run.groups[by]),
        tip: () => [
          shorten(run.groups.run, 40),
          ...alsoNamed(alike.map((two) => two.run)),
          `${run.groups.seed}, ${formatCounted(run.cycles, "cycle")}`,
          `mean: ${formatFigure(value)}`,
        ],
      };
    });
    const content = (
      <>
        {ticks.map((tick) => (
          <g key={tick}>
            <line
              class={tick === 0 ? "plot-zero" : "plot-grid"}
              x1={x(tick)}
              x2={x(tick)}
              y1={space.top}
              y2={bottom}
            />
            <text class="plot-tick" x={x(tick)} y={bottom + 16} text-anchor="middle">
              {formatAxis(tick)}
            </text>
          </g>
        ))}
        {rows.map((row) => {
          const values = there.filter((one) => one.row === row).map(({ value }) => value);
          const middle = x(median(values) ?? 0);
          return (
            <g key={row}>
              <text class="plot-tick" x={left - 8} y={y(row)} dy="0.32em" text-anchor="end">
                {shorten(row, letters)}
              </text>
              <line
                class="plot-range"
                x1={x(Math.min(...values))}
                x2={x(Math.max(...values))}
                y1={y(row)}
                y2={y(row)}
              />
              <line class="plot-median" x1={middle} x2={middle} y1={y(row) - 11} y2={y(row) + 11} />
            </g>
          );
        })}
        <g class="run-dots">
          {points.map((point) => (
            <circle key={point.run} cx={point.x} cy={point.y} r={4.5} fill={point.colour} />
          ))}
        </g>
      </>
    );
    const inOrder: readonly PlotPoint[] = points.toSorted((a, b) => a.y - b.y || a.x - b.x);
    return { height: bottom + space.bottom, lines: [inOrder], content };
  };
}
