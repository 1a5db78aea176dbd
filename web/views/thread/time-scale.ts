import type { Bar, Lane } from "./timeline-lanes.ts";

/** Where times are on the timeline, in parts of its width from 0 to 1. */
export interface TimeScale {
  readonly from: number;
  readonly to: number;
  /** Milliseconds in which nothing ran, or people were waited for. */
  readonly idleMs: number;
  readonly at: (time: number) => number;
  /** The time at a part of the width. */
  readonly timeAt: (part: number) => number;
  /** Spans that are drawn shorter than they were. */
  readonly gaps: readonly { readonly from: number; readonly to: number }[];
}

/** A part of a timeline that is seen. */
interface InSight {
  readonly scale: TimeScale;
  /** Pixels of the whole timeline. */
  readonly width: number;
  /** Pixels between which something is drawn. */
  readonly from: number;
  readonly to: number;
}

/** Gaps from this part of the active time on are shortened, to this part of it. */
const shortenedGap = 0.04;

/** Makes a scale on which spans without activity are short, if that is wished. */
export function timeScale(lanes: readonly Lane[], isShortened: boolean): TimeScale {
  const active = activeSpans(lanes.flatMap(({ bars }) => bars));
  const first = active[0]?.from ?? 0;
  const last = active.at(-1)?.to ?? first + 1;
  const from = Math.min(first, ...lanes.map(({ bars }) => bars[0]?.from ?? first));
  const to = Math.max(last, from + 1, ...lanes.map(({ bars }) => bars.at(-1)?.to ?? last));
  const activeMs = Math.max(
    1,
    active.reduce((sum, span) => sum + span.to - span.from, 0),
  );
  const shortMs = activeMs * shortenedGap;
  /** Spans of the timeline with the length that each is drawn with. */
  const spans: { from: number; to: number; length: number; isGap: boolean }[] = [];
  const add = (begin: number, end: number, isGap: boolean) => {
    if (end <= begin) return;
    const isShort = isGap && isShortened && end - begin > shortMs;
    spans.push({ from: begin, to: end, length: isShort ? shortMs : end - begin, isGap: isShort });
  };
  let until = from;
  for (const span of active) {
    add(until, span.from, true);
    add(Math.max(until, span.from), span.to, false);
    until = Math.max(until, span.to);
  }
  add(until, to, true);
  const whole = spans.reduce((sum, { length }) => sum + length, 0);
  const starts: number[] = [];
  let before = 0;
  for (const { length } of spans) {
    starts.push(before / whole);
    before += length;
  }
  const at = (time: number): number => {
    const index = lastIndex(spans, (span) => span.from <= time);
    const span = spans[index];
    if (span === undefined) return 0;
    const part = Math.min(1, (time - span.from) / (span.to - span.from));
    return starts[index]! + (part * span.length) / whole;
  };
  const timeAt = (part: number): number => {
    const index = lastIndex(starts, (start) => start <= part);
    const span = spans[index];
    if (span === undefined) return from;
    const inside = ((part - starts[index]!) * whole) / span.length;
    return span.from + Math.min(1, inside) * (span.to - span.from);
  };
  const gaps = spans.filter(({ isGap }) => isGap).map((span) => ({ from: span.from, to: span.to }));
  return { from, to, idleMs: to - from - activeMs, at, timeAt, gaps };
}

/** Pixels between two marks on the axis, at least about this many. */
const markDistance = 110;

/** A mark on the axis. */
export interface Mark {
  /** Milliseconds from the begin of the timeline: a round number. */
  readonly ms: number;
  /** Pixels. */
  readonly left: number;
}

/** Returns the marks between two places, in pixels. */
export function marksInSight({ scale, width, from, to }: InSight): readonly Mark[] {
  const marks: Mark[] = [];
  const first = Math.max(0, Math.floor(from / markDistance));
  const last = Math.floor(Math.min(to, width) / markDistance);
  for (let place = first; place <= last; place += 1) {
    const [begin, end] = [place, place + 1].map(
      (at) => scale.timeAt(Math.min(1, (at * markDistance) / width)) - scale.from,
    ) as [number, number];
    const step = roundStep(end - begin);
    const ms = Math.ceil(begin / step) * step;
    const left = scale.at(scale.from + ms) * width;
    const before = marks.at(-1)?.left ?? Number.NEGATIVE_INFINITY;
    if (left <= width && left - before >= markDistance / 2) marks.push({ ms, left });
  }
  return marks;
}

const [second, minute, hour] = [1_000, 60_000, 3_600_000];
const clockSteps = [1, 2, 5, 10, 15, 30].flatMap((count) => [
  count * second,
  count * minute,
  count * hour,
]);

/** Returns the least round number of milliseconds that is not below another: 1, 2 or 5 of a power of ten, or as clocks show. */
function roundStep(ms: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, ms)));
  const decimal = [1, 2, 5, 10].map((count) => count * power);
  const steps = ms <= second ? decimal : clockSteps.toSorted((a, b) => a - b);
  return steps.find((step) => step >= ms) ?? 10 * power;
}

/** Returns the place of the last item that something holds for, in a list where it holds for the first ones only. */
function lastIndex<Item>(items: readonly Item[], holds: (item: Item) => boolean): number {
  let [low, high] = [-1, items.length - 1];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (holds(items[middle]!)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Returns when something ran, joined and in order. While a node waits, only its requests and calls count. */
function activeSpans(bars: readonly Bar[]): readonly { from: number; to: number }[] {
  const spans = bars
    .flatMap((bar): readonly Pick<Bar, "from" | "to">[] => (bar.isWaiting ? bar.parts : [bar]))
    .toSorted((a, b) => a.from - b.from);
  const joinedSpans: { from: number; to: number }[] = [];
  for (const { from, to } of spans) {
    const last = joinedSpans.at(-1);
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
    else joinedSpans.push({ from, to });
  }
  return joinedSpans;
}

/** A bar as it is drawn, or several that are too close to be told apart. */
export interface DrawnBar {
  readonly bars: readonly Bar[];
  /** Pixels. */
  readonly left: number;
  readonly width: number;
}

/** Pixels below which bars are drawn as one. */
const leastWidth = 3;

/** Returns the bars of a lane between two places, in pixels: as many as can be told apart. */
export function barsInSight(lane: Lane, { scale, width, from, to }: InSight): readonly DrawnBar[] {
  const drawn: { bars: Bar[]; left: number; width: number }[] = [];
  for (const bar of lane.bars) {
    const left = scale.at(bar.from) * width;
    const right = Math.max(left + leastWidth, scale.at(bar.to) * width);
    if (right < from || left > to) continue;
    const last = drawn.at(-1);
    const isClose = last !== undefined && left < last.left + last.width + 1;
    const isSmall = right - left <= 2 * leastWidth || (last?.width ?? 0) <= 2 * leastWidth;
    if (isClose && isSmall) {
      last.bars.push(bar);
      last.width = Math.max(last.width, right - last.left);
    } else drawn.push({ bars: [bar], left, width: right - left });
  }
  return drawn;
}
