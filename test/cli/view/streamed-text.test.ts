import fc from "fast-check";
import { expect, it } from "vitest";
import { StreamedText } from "../../../src/cli/view/streamed-text.ts";

function streamed(...pieces: string[]): readonly string[] {
  const text = new StreamedText((line) => ({ lines: [line], inside: "" }));
  for (const piece of pieces) text.append(piece);
  return text.lines;
}

it("gives whole lines, and the line that has not ended", () => {
  expect(streamed("\n\nHigh ti", "de\r", "\nat no", "on")).toEqual(["High tide", "at noon"]);
});

it("takes out an escape sequence that two pieces share, and shows no part of it", () => {
  expect(streamed("a\u001B")).toEqual(["a"]);
  expect(streamed("a\u001B", "[3")).toEqual(["a"]);
  expect(streamed("a\u001B", "[3", "1mred")).toEqual(["ared"]);
  expect(streamed("a\u001B]8;;http://x", "\u001B", "\\link")).toEqual(["alink"]);
  expect(streamed("a\u009B2", "Jb")).toEqual(["ab"]);
  // What turns out to be none is shown.
  expect(streamed("a\u001B", "\u0007b")).toEqual(["a␛␇b"]);
});

it("waits for the second half of a pair of surrogates", () => {
  expect(streamed("a\uD83D")).toEqual(["a"]);
  expect(streamed("a\uD83D", "\uDE00")).toEqual(["a😀"]);
});

it("lets no control character through, however the text is cut into pieces", () => {
  const character = fc.constantFrom(
    "\u001B",
    "\u009B",
    "[",
    "]",
    "2",
    "J",
    "\u0007",
    "\\",
    "\r",
    "a",
  );
  fc.assert(
    fc.property(fc.array(fc.string({ unit: character, maxLength: 6 })), (pieces) => {
      const text = new StreamedText((line) => ({ lines: [line], inside: "" }));
      for (const piece of pieces) {
        text.append(piece);
        expect(text.lines.join("")).not.toMatch(/\p{Cc}/u);
      }
      const whole = new StreamedText((line) => ({ lines: [line], inside: "" }));
      whole.append(pieces.join(""));
      expect(text.lines).toEqual(whole.lines);
    }),
  );
});

it("passes what a line leaves open to the next, once for each line", () => {
  const asked: string[] = [];
  const text = new StreamedText((line, inside) => {
    asked.push(`${inside}|${line}`);
    return { lines: [line], inside: inside + line };
  });
  text.append("a\nb");
  expect(text.lines).toEqual(["a", "b"]);
  text.append("c\n");
  expect(text.lines).toEqual(["a", "bc"]);
  expect(asked).toEqual(["|a", "a|b", "a|bc"]);
});

it("keeps a bounded number of lines, and breaks a line without an end", () => {
  const text = new StreamedText((line) => ({ lines: [line], inside: "" }));
  text.append("a\n".repeat(100_000));
  expect(text.lines.length).toBeLessThanOrEqual(4000);
  const long = streamed("x".repeat(10_000));
  expect(long.map((line) => line.length)).toEqual([4000, 4000, 2000]);
});
