import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fitText } from "../../../src/context/summarise/result-summary.ts";
import { anyCharacter } from "../../helpers/any-character.ts";

describe("a text that has to fit", () => {
  it("stays as it is when it does", () => {
    expect(fitText("bees", 4, (text) => text.length)).toBe("bees");
  });

  it("keeps its beginning and its end", () => {
    const long = `${"a".repeat(500)}${"b".repeat(500)}`;
    expect(fitText(long, 100, (part) => Math.ceil(part.length / 4))).toBe(
      `${"a".repeat(252)}\n… [cut: 664 characters]\n${"b".repeat(84)}`,
    );
  });

  it("has at most so many tokens, however many a character has, and parts no character", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: anyCharacter, maxLength: 2000 }),
        fc.integer({ min: 40, max: 400 }),
        fc.constantFrom(0.25, 1, 1.5),
        (text, maxTokens, tokensOfCharacter) => {
          const count = (part: string) => Math.ceil(part.length * tokensOfCharacter);
          const fitting = fitText(text, maxTokens, count);
          expect(count(fitting)).toBeLessThanOrEqual(maxTokens);
          expect(fitting).not.toMatch(/\p{Surrogate}/u);
        },
      ),
    );
  });
});
