import { nice, ticks } from "d3-array";

const wholeNumber = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const oneDigit = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/** Stands for what is not known. */
export const missing = "–";

/** A figure with one digit after the point below a hundred; null as `–`. */
export function formatFigure(value: number | null | undefined): string {
  if (value === null || value === undefined) return missing;
  return (Math.abs(value) >= 100 ? wholeNumber : oneDigit).format(value);
}

/** A figure for axes: `1.2K`. Small numbers keep the digits that tell them apart. */
export function formatAxis(value: number): string {
  if (Math.abs(value) >= 1000) return compact.format(value);
  return String(Number(value.toPrecision(6)));
}

export function formatCounted(number: number, noun: string): string {
  return `${wholeNumber.format(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** `$12.50`, `$0.0012`, `unknown` for null; `–` for 0, which earlier versions logged for an unknown cost too. */
export function formatDollars(amount: number | null | undefined): string {
  if (amount === null) return "unknown";
  if (amount === undefined || amount === 0) return missing;
  const size = Math.abs(amount);
  const digits = size >= 0.01 ? 2 : Math.min(10, 1 - Math.floor(Math.log10(size)));
  return `${amount < 0 ? "−" : ""}$${size.toFixed(digits)}`;
}

/** `2026-11-21 14:02 UTC` */
export function formatMinute(iso: string): string {
  return `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC`;
}

export function sum(values: readonly number[]): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/** The sum; null if one of the values is not known, or there is none. */
export function knownSum(values: readonly (number | null)[]): number | null {
  if (values.length === 0) return null;
  let total = 0;
  for (const value of values) {
    if (value === null) return null;
    total += value;
  }
  return total;
}

/** Null for no values. */
export function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : sum(values) / values.length;
}

/** An item with its place among those that would hide each other, and how many they are. */
export interface Placed<Item> {
  readonly item: Item;
  readonly place: number;
  readonly count: number;
}

/** @param keyOf the same for items that are drawn in the same place */
export function coinciding<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
): readonly Placed<Item>[] {
  const together = new Map<string, Item[]>();
  for (const item of items) {
    const key = keyOf(item);
    const others = together.get(key);
    if (others === undefined) together.set(key, [item]);
    else others.push(item);
  }
  return [...together.values()].flatMap((all) =>
    all.map((item, place) => ({ item, place, count: all.length })),
  );
}

/** Length of a dash where two lines coincide. */
const dash = 6;

/** The dashes of a line, in the gaps between those of the lines that it coincides with; null where there is none. */
export function dashesOf({ place, count }: Pick<Placed<unknown>, "place" | "count">) {
  if (count === 1) return null;
  return { array: `${dash} ${dash * (count - 1)}`, offset: -dash * place };
}

/** How far a point is moved aside, so that all that coincide stay within `room`. */
export function shiftOf(
  { place, count }: Pick<Placed<unknown>, "place" | "count">,
  room: number,
): number {
  const step = count === 1 ? 0 : Math.min(6, room / (count - 1));
  return (place - (count - 1) / 2) * step;
}

/** The end and the ticks of an axis of counts up to `most`, with some `wanted` ticks: none of them is a fraction. */
export function wholeTicks(
  most: number,
  wanted: number,
): { readonly end: number; readonly ticks: readonly number[] } {
  if (most >= wanted) {
    const [, end] = nice(0, most, wanted);
    return { end, ticks: ticks(0, end, wanted) };
  }
  const end = Math.max(1, Math.ceil(most));
  return { end, ticks: Array.from({ length: end + 1 }, (_none, tick) => tick) };
}

/** Near an end, the mean of the values that are there. */
function smoothed(values: readonly number[], width: number): readonly number[] {
  const sums = [0];
  for (const value of values) sums.push(sums.at(-1)! + value);
  const before = Math.floor((width - 1) / 2);
  return values.map((_value, index) => {
    const from = Math.max(0, index - before);
    const to = Math.min(values.length, index - before + width);
    return (sums[to]! - sums[from]!) / (to - from);
  });
}

/** A point of a line: the mean of some cycles. */
export interface SeriesPoint {
  /** Numbers of the first and the last cycle. */
  readonly from: number;
  readonly to: number;
  /** In the middle of them. */
  readonly cycle: number;
  readonly value: number;
}

/** Points of a line; more would be closer together than a screen shows. */
const mostPoints = 200;

/** Cycles that one point stands for, in a plot of a longest run of so many cycles. */
export function cyclesPerPoint(longest: number): number {
  return Math.max(1, Math.ceil(longest / mostPoints));
}

/**
 * Numbers by cycle, each the mean of so many cycles around it; where there are too many points, the means of so many
 * cycles each.
 */
export function series(
  values: readonly number[],
  { smooth, perPoint }: { readonly smooth: number; readonly perPoint: number },
): readonly SeriesPoint[] {
  const shown = smooth > 1 ? smoothed(values, smooth) : values;
  const points: SeriesPoint[] = [];
  for (let from = 0; from < shown.length; from += perPoint) {
    const to = Math.min(from + perPoint, shown.length);
    const value = sum(shown.slice(from, to)) / (to - from);
    points.push({ from: from + 1, to, cycle: (from + 1 + to) / 2, value });
  }
  return points;
}

/** The mean of several lines, at every point that any of them has. */
export function meanSeries(lines: readonly (readonly SeriesPoint[])[]): readonly SeriesPoint[] {
  const [longest = []] = lines.toSorted((a, b) => b.length - a.length);
  return longest.map((point, index) => {
    const values = lines.flatMap((line) => (line[index] === undefined ? [] : [line[index].value]));
    return { ...point, value: sum(values) / values.length };
  });
}
