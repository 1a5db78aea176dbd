import { describe, expect, it } from "vitest";
import { findEntities } from "../../../src/memory/search/entities.ts";

describe("entities of a text", () => {
  it.each([
    ["Hey Caroline! I met Ann Lee in New York.", ["Caroline", "Ann Lee", "New York"]],
    ["She works at the Bank of England, with Dr. Smith.", ["Bank of England", "Smith"]],
    ["IBM bought Red Hat.", ["IBM", "Red Hat"]],
    ["Ada lives here. Painting is fun. Thanks!", ["Ada"]],
    [
      "On 8 May 2023, Sept 3rd, 2024, May 2023 and 2023-02-28.",
      ["2023-05-08", "2024-09-03", "2023-05", "2023-02-28"],
    ],
    ["There is no 2023-02-31.", []],
    [
      "Order ORD-2291 by u-17, mail jo@ex.com, see #4411.",
      ["ORD-2291", "u-17", "jo@ex.com", "#4411"],
    ],
    ["nothing at all", []],
    ["", []],
  ])("of %j are %j", (text, entities) => {
    expect(findEntities(text)).toEqual(entities);
  });

  it("are given once, at most 100 of them", () => {
    expect(findEntities("in Rome or in Rome")).toEqual(["Rome"]);
    const many = Array.from({ length: 300 }, (_, at) => `see #${at + 1}`).join(" ");
    expect(findEntities(many)).toHaveLength(100);
  });

  it.each(["A ", "a@", "A-1", "9 ", "Aa", "A of the ", "Jan 1 ", '"', "a."])(
    "are found in megabytes of %j",
    (part) => {
      expect(findEntities(part.repeat(2_000_000)).length).toBeLessThan(3);
    },
  );
});
