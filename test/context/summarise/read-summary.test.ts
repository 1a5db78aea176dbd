import { describe, expect, it } from "vitest";
import { readSummary, summaryCharacters } from "../../../src/context/summarise/running-summary.ts";

describe("the summary in a reply", () => {
  it.each([
    ["  Ada asked for 7.  ", "Ada asked for 7."],
    ["Summary: Ada asked.", "Ada asked."],
    ["## Running summary:\nAda asked.", "Ada asked."],
    ["**Summary:** Ada asked.", "Ada asked."],
    ["```text\nAda asked.\n```", "Ada asked."],
    ["<think>What to say?</think>\nAda asked.", "Ada asked."],
    ["<summary>Ada asked.</summary>", "Ada asked."],
    ["Ada asked.\n\n\n\nBo answered.", "Ada asked.\n\nBo answered."],
    ["Ada\u0000 asked.", String.raw`Ada\u0000 asked.`],
  ])("of %j is %j", (reply, text) => {
    expect(readSummary(reply, 1000)).toBe(text);
  });

  it.each(["", " \n ", "``` \n\n```".slice(3, 5), "<think>Nothing.</think>", "Summary:"])(
    "of %j is none",
    (reply) => {
      expect(readSummary(reply, 1000)).toBeNull();
    },
  );

  it("is cut where it is too long, and says so", () => {
    expect(readSummary("x".repeat(30), 10)).toBe("xxxxxxxxxx… [cut: 20 more characters]");
  });
});

describe("the room for a summary", () => {
  it.each([
    [10, 200],
    [1000, 1200],
    [8000, 4000],
  ])("beside %i tokens is %i characters", (maxTokens, characters) => {
    expect(summaryCharacters(maxTokens)).toBe(characters);
  });
});
