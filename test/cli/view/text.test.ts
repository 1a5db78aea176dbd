import fc from "fast-check";
import {
  cutToWidth,
  plainText,
  shortLines,
  textWidth,
  wantsColour,
  wrapText,
} from "../../../src/cli/view/terminal.ts";
import { describe, expect, it } from "vitest";
import { duration, totals } from "../../../src/cli/view/figures.ts";
import { noUsage } from "../../../src/state/usage.ts";
import { anyCharacter } from "../../helpers/any-character.ts";

const texts = fc.string({ unit: anyCharacter, maxLength: 200 });
const printable = fc.string({ unit: "grapheme", maxLength: 200 });

describe("plainText", () => {
  it.each([
    ["a\u001B[31mb\u001B[0mc", "abc"],
    ["\u001B\u001B[31m[31mx", "␛[31mx"],
    ["a\r\nb\rc", "a\nb\nc"],
    ["a\tb", "a    b"],
    ["\u0000\u007F\u0085\u2028", "␀␡��"],
    ["half \uD83D", "half �"],
    ["\u001B[38;2;1;2;3ma\u009B0m \u001B[?25l\u001B(Bb\u001B7", "a b"],
    ["\u001B]8;;https://a.b/c?d=e\u0007link\u001B]8;;\u001B\\", "link"],
    ["\u001B]0;pay 99,999\u0007", "␛]0;pay 99,999␇"],
    ["👩‍👩‍👧 é क्‍ष", "👩‍👩‍👧 é क्‍ष"],
    ["pay\u202E5\u202C.\u200B0\u2066\uFEFF", "pay�5�.�0��"],
    ["re\u200Dfund \u{E0041}", "re�fund �"],
  ])("makes %j %j", (text, plain) => {
    expect(plainText(text)).toBe(plain);
  });

  it("leaves nothing that acts on a terminal", () => {
    fc.assert(
      fc.property(texts, (text) => {
        expect(plainText(text)).not.toMatch(/[^\P{Cc}\n]|\p{Cs}|[\u202A-\u202E\u2066-\u2069]/u);
      }),
    );
  });
});

describe("text on a terminal", () => {
  it.each([
    ["abc", 3],
    ["日本", 4],
    ["👩‍👩‍👧", 2],
    ["é", 1],
    ["✓ é", 3],
    ["", 0],
  ])("knows that %j takes %i columns", (text, width) => {
    expect(textWidth(text)).toBe(width);
  });

  it.each([
    ["👩‍👩‍👧", 2],
    ["e\u0301", 1],
    ["🇩🇪", 2],
    ["👍🏽", 2],
    ["한", 2],
    ["क्ष", 1],
    ["漢", 2],
    ["\u00AD", 0],
  ])("measures a long run of %j as the sum of its graphemes", (grapheme, width) => {
    for (const before of ["", "a", "ab", "漢"]) {
      const expected = textWidth(before) + 500 * width;
      expect(textWidth(before + grapheme.repeat(500))).toBe(expected);
    }
  });

  it("measures a grapheme of any length", () => {
    expect(textWidth(`e${"\u0301".repeat(5000)}x`)).toBe(2);
  });

  it.each([
    ["abcdef", 6, "abcdef"],
    ["abcdef", 5, "abcd…"],
    ["日本語", 5, "日本…"],
    ["日本語", 4, "日…"],
  ])("cuts %j to %i columns: %j", (text, width, cut) => {
    expect(cutToWidth(text, width)).toBe(cut);
  });

  it("never prints wider than asked, and loses no word", () => {
    fc.assert(
      fc.property(printable, fc.integer({ min: 4, max: 40 }), (text, width) => {
        const plain = plainText(text);
        expect(textWidth(cutToWidth(plain.replaceAll("\n", " "), width))).toBeLessThanOrEqual(
          width,
        );
        const lines = wrapText(plain, width);
        expect(lines.filter((line) => textWidth(line) > width)).toEqual([]);
        const letters = (of: string) => of.replace(/\s/g, "");
        expect(letters(lines.join(""))).toBe(letters(plain));
      }),
    );
  });
});

describe("figures", () => {
  it.each([
    [0.234, "0 ms"],
    [999.4, "999 ms"],
    [999.6, "1.0 s"],
    [59_960, "1 min 0 s"],
    [185_000, "3 min 5 s"],
  ])("writes %f ms as %s", (milliseconds, text) => {
    expect(duration(milliseconds)).toBe(text);
  });

  it.each([
    [12.5, "$12.50"],
    [0.01, "$0.01"],
    [0.001, "$0.0010"],
    [0.00000042, "$0.00000042"],
    [null, "cost unknown"],
  ])("writes %f dollars as %s", (cost_usd, text) => {
    const line = totals({ steps: 1, usage: { ...noUsage, tokens_in: 1, cost_usd }, elapsedMs: 5 });
    expect(line).toBe(`1 step · 0 tool calls · 1 token in, 0 out · ${text} · 5 ms`);
  });
});

describe("colour", () => {
  it.each([
    [true, {}, true],
    [false, {}, false],
    [true, { NO_COLOR: "1" }, false],
    [true, { NO_COLOR: "" }, true],
    [true, { TERM: "dumb" }, false],
    [false, { FORCE_COLOR: "1", NO_COLOR: "1" }, true],
    [true, { FORCE_COLOR: "0" }, false],
  ])("on a terminal (%s) with %j: %s", (isTerminal, env, wanted) => {
    expect(wantsColour(isTerminal, env)).toBe(wanted);
  });
});

it("cuts a text of several lines after a word", () => {
  expect(shortLines("one two three four five", 12, 1)).toEqual(["one two…"]);
  expect(shortLines("one two three four five", 12, 2)).toEqual(["one two", "three four…"]);
  expect(shortLines("x".repeat(30), 12, 1)).toEqual([`${"x".repeat(11)}…`]);
});
