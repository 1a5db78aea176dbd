import { describe, expect, it } from "vitest";
import { createBm25 } from "../../../src/tools/selection/bm25.ts";

describe("createBm25", () => {
  it("gives the published formula's scores", () => {
    const bm25 = createBm25([["a", "a", "b"], ["b"], ["c", "d"]]);
    // ln(1 + 2.5 / 1.5) * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2))
    expect(bm25.scores(["a"])[0]).toBeCloseTo((Math.log(8 / 3) * 4.4) / 3.65, 10);
    expect(bm25.scores(["a"])[1]).toBe(0);
  });

  it("prefers the shorter document of two that have a word", () => {
    const [long = 0, short = 0] = createBm25([["a", "b", "c"], ["a"]]).scores(["a"]);
    expect(short).toBeGreaterThan(long);
  });

  it("counts a word of the query once", () => {
    const bm25 = createBm25([["a"], ["b"]]);
    expect(bm25.scores(["a", "a"])).toEqual(bm25.scores(["a"]));
  });

  it("scores nothing where there is nothing", () => {
    expect(createBm25([]).scores(["a"])).toEqual(new Float64Array(0));
    expect(createBm25([[], []]).scores(["a"])).toEqual(new Float64Array(2));
  });
});
