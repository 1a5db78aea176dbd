import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { reduceResultSummaries, type ResultSummaries } from "../../src/state/reducers.ts";

const said = (text: string) => ({ text, model: "m" });
const numbered = (from: number, to: number): ResultSummaries =>
  Object.fromEntries(
    Array.from({ length: to - from }, (_, at) => [`k${from + at}`, said(`${from + at}`)]),
  );

describe("summaries that a thread keeps", () => {
  it("are merged by key, as parallel branches write them", () => {
    const merged = reduceResultSummaries(
      { a: said("1"), b: said("2") },
      { b: said("3"), c: said("4") },
    );
    expect(Object.entries(merged)).toEqual([
      ["a", said("1")],
      ["b", said("3")],
      ["c", said("4")],
    ]);
  });

  it("are the newest 200", () => {
    const merged = reduceResultSummaries(numbered(0, 199), numbered(199, 205));
    expect(merged).toEqual(numbered(5, 205));
    expect(Object.keys(reduceResultSummaries({}, numbered(0, 300)))).toEqual(
      Object.keys(numbered(100, 300)),
    );
  });

  it("are at most 200 with everything new among them, however they come", () => {
    const updates = fc.array(fc.tuple(fc.nat(400), fc.nat(150)), { maxLength: 8 });
    fc.assert(
      fc.property(updates, (spans) => {
        let value: ResultSummaries = {};
        for (const [from, length] of spans) {
          const update = numbered(from, from + length);
          const before = Object.keys(value);
          value = reduceResultSummaries(value, update);
          expect(Object.keys(value).length).toBeLessThanOrEqual(200);
          const added = Object.keys(update).filter((key) => !before.includes(key));
          expect(Object.keys(value)).toEqual(expect.arrayContaining(added));
        }
      }),
    );
  });
});
