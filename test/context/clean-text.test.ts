import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cleanText } from "../../src/context/clean-text.ts";
import { anyCharacter } from "../helpers/any-character.ts";

describe("cleanText", () => {
  it("leaves a clean text as it is", () => {
    const text = "Zeile 1\n\tZeile 2: 😀 ü \u2028 \u{10ffff}";
    expect(cleanText(text)).toBe(text);
    expect(cleanText("")).toBe("");
  });

  it("replaces halves of surrogate pairs", () => {
    expect(cleanText("a\ud83d b\ude00 😀 \ude00\ud83d")).toBe("a\ufffd b\ufffd 😀 \ufffd\ufffd");
  });

  it("shows control characters as their escapes", () => {
    expect(cleanText("\u0000 \u001b[31m \u007f \u0085 \r")).toBe(
      String.raw`\u0000 \u001b[31m \u007f \u0085 \u000d`,
    );
  });

  it("writes line ends as line feeds", () => {
    expect(cleanText("a\r\nb\r\n\r\nc\n")).toBe("a\nb\n\nc\n");
  });

  it("makes every text well-formed and free of control characters, once and for all", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        const clean = cleanText(text);
        expect(Buffer.from(clean, "utf8").toString("utf8")).toBe(clean);
        // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
        expect(clean).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
        expect(cleanText(clean)).toBe(clean);
      }),
    );
  });
});
