import fc from "fast-check";
import { expect, it } from "vitest";
import { memoryTokens } from "../../../src/memory/consolidation/plan.ts";
import { extractSummary } from "../../../src/memory/consolidation/shorten.ts";

it("returns a text that fits as it is", () => {
  expect(extractSummary("Short.  And sweet. ", 5)).toBe("Short.  And sweet. ");
});

it("keeps the first sentence and the most salient ones, in their order", () => {
  const text =
    "We spoke about the move of the billing database. The weather was nice. " +
    "The billing database moves on 2026-04-02. Lunch was late. The database team owns the move.";
  expect(extractSummary(text, 32)).toBe(
    "We spoke about the move of the billing database. The billing database moves on 2026-04-02. " +
      "The database team owns the move.",
  );
  expect(extractSummary(text, 24)).toBe(
    "We spoke about the move of the billing database. The billing database moves on 2026-04-02.",
  );
});

it("cuts a first sentence that does not fit after a word", () => {
  expect(extractSummary("one two three four five six seven eight nine ten", 5)).toBe(
    "one two three…",
  );
});

it("cuts a text without spaces within its limit", () => {
  expect(extractSummary("x".repeat(100), 3)).toBe(`${"x".repeat(9)}…`);
  expect(extractSummary("🦀".repeat(100), 3)).toBe("🦀🦀…");
});

it("stays within the limit, and is never empty, for any text", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme", minLength: 1, maxLength: 400 }),
      fc.integer({ min: 1, max: 60 }),
      (text, maxTokens) => {
        const summary = extractSummary(text, maxTokens);
        expect(memoryTokens(summary)).toBeLessThanOrEqual(maxTokens);
        expect(summary).not.toBe("");
      },
    ),
  );
});
