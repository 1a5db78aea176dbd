import { useMemo } from "preact/hooks";
import {
  coinciding,
  cyclesPerPoint,
  dashesOf,
  formatAxis,
  formatCounted,
  formatFigure,
  meanSeries,
  series,
  type SeriesPoint,
  wholeTicks,
} from "./figures.ts";
import { type Drawing, Plot, type PlotPoint, shorten } from "./plot.tsx";
import type { Grouping, Measure, Report, Run } from "./report-data.ts";

const panelHeight = 190;
const splitHeight = 116;
/** Pixels around the panels, and between them. */
const space = { left: 46, right: 12, top: 14, bottom: 34, between: 30 };
/** From so many lines on, they are thinner. */
const manyLines = 12;
/** Up to so many points a line, each is marked. */
const markedPoints = 40;
/** Runs that a tip names besides the one that is pointed at. */
const namedAlike = 4;

interface CyclePlotProps {
  readonly report: Report;
  readonly measure: Measure;
  readonly shown: readonly Run[];
  readonly by: Grouping;
  readonly split: Grouping | "none";
  readonly smooth: number;
}

interface Line {
  readonly run: Run;
  readonly panel: string;
  readonly points: readonly SeriesPoint[];
}

/** One line a run over its cycles; where several runs have a colour, their mean stands out. */
export function CyclePlot(props: CyclePlotProps) {
  const { report, measure, shown, by, split, smooth } = props;
  const draw = useMemo(() => drawing(props), [report, measure, shown, by, split, smooth]);
  return (
    <Plot
      title={measure.title}
      unit={measure.unit}
      label={`${measure.title} by cycle`}
      description={`${formatCounted(shown.length, "run")}, ${measure.unit}`}
      draw={draw}
    />
  );
}

function drawing({ report, measure, shown, by, split, smooth }: CyclePlotProps) {
  const { longest } = report;
  const perPoint = cyclesPerPoint(longest);
  const panelOf = (run: Run) => (split === "none" ? "" : run.groups[split]);
  const panels = split === "none" ? [""] : [...new Set(shown.map(panelOf))];
  const lines: readonly Line[] = shown.flatMap((run) => {
    const points = series(run[measure.name], { smooth, perPoint });
    return points.length === 0 ? [] : [{ run, panel: panelOf(run), points }];
  });
  const means = meanLines(lines, by);
  const isFaint = means.length > 0;
  const marksPoints = longest <= markedPoints && !isFaint;
  const most = lines.reduce(
    (top, { points }) => points.reduce((high, { value }) => Math.max(high, value), top),
    0,
  );
  const dashes = new Map(
    coinciding(lines, ({ panel, points }) =>
      JSON.stringify([panel, ...points.map(({ value }) => value)]),
    ).map((placed) => [placed.item.run.key, dashesOf(placed)]),
  );
  return (width: number): Drawing => {
    const one = panels.length === 1 ? panelHeight : splitHeight - space.between;
    const step = one + (panels.length === 1 ? 0 : space.between);
    const { end, ticks } = wholeTicks(most, panels.length === 1 ? 5 : 3);
    const [first, last] = longest > 1 ? [1, longest] : [0.5, 1.5];
    const room = Math.max(1, width - space.left - space.right);
    const x = (cycle: number) => space.left + ((cycle - first) / (last - first)) * room;
    const topOf = (panel: string) =>
      space.top + (panels.length === 1 ? 0 : 12) + panels.indexOf(panel) * step;
    const y = (panel: string, value: number) => topOf(panel) + one * (1 - value / end);
    const pathOf = (panel: string, points: readonly SeriesPoint[]) =>
      points
        .map(
          ({ cycle, value }, index) =>
            `${index === 0 ? "M" : "L"}${x(cycle).toFixed(2)},${y(panel, value).toFixed(2)}`,
        )
        .join("");
    const bottom = topOf(panels.at(-1) ?? "") + one;
    const points = lines.map(({ run, panel, points: of }) =>
      of.map((point): PlotPoint => ({
        x: x(point.cycle),
        y: y(panel, point.value),
        run: run.key,
        tip: () => tipText(run, point, { smooth, alike: alikeAt(lines, { run, panel, point }) }),
      })),
    );
    const content = (
      <>
        {panels.map((panel) => (
          <g key={panel}>
            {ticks.map((tick) => (
              <g key={tick}>
                <line
                  class={tick === 0 ? "plot-zero" : "plot-grid"}
                  x1={space.left}
                  x2={width - space.right}
                  y1={y(panel, tick)}
                  y2={y(panel, tick)}
                />
                <text
                  class="plot-tick"
                  x={space.left - 8}
                  y={y(panel, tick)}
                  dy="0.32em"
                  text-anchor="end"
                >
                  {formatAxis(tick)}
                </text>
              </g>
            ))}
            {panels.length > 1 && (
              <text class="plot-panel" x={space.left + 4} y={topOf(panel) - 8}>
                {shorten(panel, Math.floor(width / 9))}
              </text>
            )}
          </g>
        ))}
        {cycleTicks(longest, width).map((cycle) => (
          <text key={cycle} class="plot-tick" x={x(cycle)} y={bottom + 16} text-anchor="middle">
            {cycle.toLocaleString("en")}
          </text>
        ))}
        <text class="plot-tick" x={space.left + room / 2} y={bottom + 31} text-anchor="middle">
          cycle
        </text>
        <g class="run-lines">
          {lines.map(({ run, panel, points: of }) => {
            const dash = dashes.get(run.key) ?? null;
            return (
              <path
                key={run.key}
                d={pathOf(panel, of)}
                stroke={report.colourOf(by, run.groups[by])}
                {...strokeOf(lines.length, isFaint && dash === null)}
                stroke-dasharray={dash?.array}
                stroke-dashoffset={dash?.offset}
              />
            );
          })}
        </g>
        {/* A line of one point cannot be seen. */}
        {lines
          .filter(({ points: of }) => marksPoints || of.length === 1)
          .map(({ run, panel, points: of }) => (
            <g key={run.key} fill={report.colourOf(by, run.groups[by])}>
              {of.map(({ cycle, value }) => (
                <circle key={cycle} cx={x(cycle)} cy={y(panel, value)} r={1.75} />
              ))}
            </g>
          ))}
        <g class="mean-lines">
          {means.map(({ key, group, panel, points: of }) => (
            <path key={key} d={pathOf(panel, of)} stroke={report.colourOf(by, group)} />
          ))}
        </g>
      </>
    );
    const stress = (key: string) =>
      lines
        .filter(({ run }) => run.key === key)
        .map(({ run, panel, points: of }) => (
          <path
            class="pointed"
            d={pathOf(panel, of)}
            stroke={report.colourOf(by, run.groups[by])}
          />
        ));
    return { height: bottom + space.bottom, lines: points, content, stress };
  };
}

/** Cycles that an axis names: the first, and whole steps to the last. */
function cycleTicks(longest: number, width: number): readonly number[] {
  if (longest === 0) return [];
  const wanted = Math.min(longest, Math.max(2, Math.floor(width / 80)));
  const { ticks } = wholeTicks(longest, wanted);
  return [1, ...ticks.filter((tick) => tick > 1 && tick <= longest && tick / longest > 0.06)];
}

/** Lines give way to the means of their colour, and to each other where there are many. */
function strokeOf(lines: number, isFaint: boolean) {
  if (isFaint) return { "stroke-width": 1, "stroke-opacity": 0.38 };
  return lines > manyLines
    ? { "stroke-width": 1.25, "stroke-opacity": 0.6 }
    : { "stroke-width": 1.75, "stroke-opacity": 0.95 };
}

/** The mean line of every colour and panel that has more than one run, and more than one cycle. */
function meanLines(lines: readonly Line[], by: Grouping) {
  const alike = new Map<string, Line[]>();
  for (const line of lines) {
    const key = JSON.stringify([line.run.groups[by], line.panel]);
    alike.set(key, [...(alike.get(key) ?? []), line]);
  }
  return [...alike].flatMap(([key, together]) => {
    const [first] = together;
    const points = meanSeries(together.map((line) => line.points));
    if (first === undefined || together.length < 2 || points.length < 2) return [];
    return [{ key, group: first.run.groups[by], panel: first.panel, points }];
  });
}

/** The other runs that have a point in the same place. */
function alikeAt(
  lines: readonly Line[],
  { run, panel, point }: { run: Run; panel: string; point: SeriesPoint },
): readonly Run[] {
  return lines
    .filter((line) => line.run !== run && line.panel === panel)
    .filter(({ points }) =>
      points.some(({ cycle, value }) => cycle === point.cycle && value === point.value),
    )
    .map((line) => line.run);
}

function tipText(
  run: Run,
  { from, to, value }: SeriesPoint,
  { smooth, alike }: { readonly smooth: number; readonly alike: readonly Run[] },
): readonly string[] {
  const cycles = from === to ? `cycle ${from}` : `cycles ${from}–${to}, mean`;
  const when = smooth > 1 ? `${cycles}, smoothed` : cycles;
  return [
    shorten(run.groups.run, 40),
    ...alsoNamed(alike),
    `${shorten(run.model_name, 40)}, ${run.groups.seed}`,
    `${when}: ${formatFigure(value)}`,
  ];
}

/** Names of runs that are in the same place, the first few. */
export function alsoNamed(runs: readonly Run[]): readonly string[] {
  const named = runs.slice(0, namedAlike).map(({ groups }) => `and ${shorten(groups.run, 36)}`);
  const more = runs.length - named.length;
  return more > 0 ? [...named, `and ${more} more`] : named;
}
