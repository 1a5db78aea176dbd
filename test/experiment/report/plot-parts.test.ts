import { describe, expect, it } from "vitest";

/** Modules of the page, which has no types. */
const load = (name: string) =>
  import(new URL(`../../../src/experiment/report/page/${name}.js`, import.meta.url).href);

interface Placed {
  readonly place: number;
  readonly count: number;
}

const { wholeTicks } = (await load("figures")) as {
  wholeTicks(this: void, most: number, wanted: number): object;
};
const { coinciding, dashesOf, shiftOf } = (await load("figures")) as {
  coinciding(this: void, items: string[], keyOf: (item: string) => string): Placed[];
  dashesOf(this: void, of: Placed): object | null;
  shiftOf(this: void, of: Placed, room: number): number;
};
const { dollars, knownSum } = (await load("figures")) as {
  dollars(this: void, amount: number | null): string;
  knownSum(this: void, values: (number | null)[]): number | null;
};

it("gives axes of counts no fractions", () => {
  expect(wholeTicks(0, 5)).toEqual({ ticks: [0, 1], domain: [0, 1] });
  expect(wholeTicks(1, 5)).toEqual({ ticks: [0, 1], domain: [0, 1] });
  expect(wholeTicks(2.4, 5)).toEqual({ ticks: [0, 1, 2, 3], domain: [0, 3] });
  expect(wholeTicks(5, 5)).toEqual({ ticks: 5, nice: true });
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
  expect([12.5, 0.0012, 0, null].map(dollars)).toEqual(["$12.50", "$0.0012", "–", "unknown"]);
  expect([knownSum([1, 2]), knownSum([1, null]), knownSum([])]).toEqual([3, null, null]);
});
