import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { truncateText, headOf } from "../../src/values/text.ts";
import { anyCharacter } from "../helpers/any-character.ts";

describe("cutText", () => {
  it("leaves a text that fits", () => {
    expect(truncateText("abc", 3)).toBe("abc");
  });

  it("says how many characters are missing", () => {
    expect(truncateText("a".repeat(13_410), 1000)).toBe(
      `${"a".repeat(1000)}… [cut: 12,410 more characters]`,
    );
  });

  it("never cuts within a surrogate pair", () => {
    expect(truncateText("ab😀cd", 3)).toBe("ab… [cut: 4 more characters]");
    expect(headOf("ab😀cd", 4)).toBe("ab😀");
    expect(headOf("ab", 0)).toBe("");
  });

  it("keeps every well-formed text well-formed", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.nat(20), (text, length) => {
        const head = headOf(text, length);
        expect(text.startsWith(head)).toBe(true);
        expect(head.length).toBeLessThanOrEqual(length);
        expect(encodeURIComponent(head)).toBeTypeOf("string");
      }),
    );
  });
});
