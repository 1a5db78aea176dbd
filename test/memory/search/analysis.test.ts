import { describe, expect, it } from "vitest";
import { analyseText, dateTerms, termsOf } from "../../../src/memory/search/analysis.ts";

describe("terms of a text", () => {
  it.each([
    ["They went running", ["go", "run"]],
    ["The children's feet", ["child", "foot"]],
    ["Ann’s cafés", ["ann", "cafe"]],
    ["what did you do?", []],
    ["🎉🎉", []],
    ["ＡＢＣ１２", ["abc12"]],
  ])("of %j are %j", (text, terms) => {
    expect(termsOf(text)).toEqual(terms);
  });

  it("part scripts that put no spaces between words", () => {
    expect(termsOf("我喜欢咖啡")).toContain("咖啡");
  });

  it("cut words that are data", () => {
    expect(termsOf("x9".repeat(1_000))).toEqual(["x9".repeat(32)]);
  });

  it("keep the words as they are written, with stop words", () => {
    expect(analyseText("The Cafés")).toEqual([
      { word: "the", term: null },
      { word: "cafes", term: "cafe" },
    ]);
  });
});

it("a long text without spaces is read in parts, so that time is linear", () => {
  const part = "我喜欢咖啡他住在北京".repeat(100);
  expect(termsOf(part.repeat(3))).toEqual([...termsOf(part), ...termsOf(part), ...termsOf(part)]);
});

it("a date has its weekday, day, month and year as terms", () => {
  const terms = dateTerms(Date.parse("2023-05-08T23:30:00Z"));
  expect(terms).toEqual(termsOf("Monday 8 May 2023"));
  expect(dateTerms(Number.NaN)).toEqual([]);
});
