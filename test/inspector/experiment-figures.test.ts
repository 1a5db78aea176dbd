import { describe, expect, it } from "vitest";
import {
  coinciding,
  dashesOf,
  formatDollars,
  knownSum,
  series,
  shiftOf,
  wholeTicks,
} from "../../web/views/experiments/figures.ts";
import { differenceOf, spreadOf } from "../../web/views/experiments/statistics.ts";

it("gives axes of counts no fractions", () => {
  expect(wholeTicks(0, 5)).toEqual({ ticks: [0, 1], end: 1 });
  expect(wholeTicks(1, 5)).toEqual({ ticks: [0, 1], end: 1 });
  expect(wholeTicks(2.4, 5)).toEqual({ ticks: [0, 1, 2, 3], end: 3 });
  expect(wholeTicks(5, 5)).toEqual({ ticks: [0, 1, 2, 3, 4, 5], end: 5 });
  expect(wholeTicks(930, 4)).toEqual({ ticks: [0, 200, 400, 600, 800, 1000], end: 1000 });
});

describe("runs that coincide", () => {
  const placed = coinciding(["a1", "b1", "a2", "a3"], ([letter = ""]) => letter);

  it("know their place among those that they would hide", () => {
    expect(placed).toEqual([
      { item: "a1", place: 0, count: 3 },
      { item: "a2", place: 1, count: 3 },
      { item: "a3", place: 2, count: 3 },
      { item: "b1", place: 0, count: 1 },
    ]);
  });

  it("are lines with dashes in each other's gaps", () => {
    expect(placed.map(dashesOf)).toEqual([
      { array: "6 12", offset: -0 },
      { array: "6 12", offset: -6 },
      { array: "6 12", offset: -12 },
      null,
    ]);
  });

  it("are points set apart within their row", () => {
    expect(placed.map((one) => shiftOf(one, 18))).toEqual([-6, 0, 6, 0]);
    expect(shiftOf({ place: 9, count: 10 }, 18)).toBe(9);
  });
});

it("says what runs cost, where it is known", () => {
  expect([12.5, 0.0012, 0, null].map(formatDollars)).toEqual(["$12.50", "$0.0012", "–", "unknown"]);
  expect([knownSum([1, 2]), knownSum([1, null]), knownSum([])]).toEqual([3, null, null]);
});

it("draws a point as the mean of its cycles, smoothed or not", () => {
  expect(series([1, 3, 5, 7, 9], { smooth: 1, perPoint: 2 })).toEqual([
    { from: 1, to: 2, cycle: 1.5, value: 2 },
    { from: 3, to: 4, cycle: 3.5, value: 6 },
    { from: 5, to: 5, cycle: 5, value: 9 },
  ]);
  const smooth = series([0, 3, 0, 3], { smooth: 3, perPoint: 1 });
  expect(smooth.map(({ value }) => value)).toEqual([1.5, 1, 2, 1.5]);
});

describe("the difference of two groups of runs", () => {
  const of = (left: readonly number[], right: readonly number[]) =>
    differenceOf(spreadOf(left)!, spreadOf(right)!);

  it("has the interval of Welch's t-test", () => {
    expect(spreadOf([2, 4, 6])).toEqual({ count: 3, mean: 4, deviation: 2, least: 2, most: 6 });
    const { value, share, interval } = of([2, 4, 6], [11, 13, 15]);
    expect({ value, share }).toEqual({ value: 9, share: 2.25 });
    // t(0.975, 4) = 2.776 times the standard error, √(8 / 3).
    expect(interval?.map((end) => Math.round(end * 1000) / 1000)).toEqual([4.467, 13.533]);
  });

  it("has no interval with one run on a side", () => {
    expect(spreadOf([])).toBeNull();
    expect(of([1], [2, 3])).toEqual({ value: 1.5, share: 1.5, interval: null });
  });

  it("has no share of nothing, and no width without spread", () => {
    expect(of([0, 0], [3, 3])).toEqual({ value: 3, share: null, interval: [3, 3] });
  });
});
