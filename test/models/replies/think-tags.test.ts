import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type SplitText,
  splitThinking,
  ThinkSplitter,
} from "../../../src/models/replies/think-tags.ts";

const rows: readonly (readonly [written: string, text: string, reasoning: string])[] = [
  ["<think>6 * 7</think>42", "42", "6 * 7"],
  ["  \n<think>\n6 * 7\n</think>\n\n42", "42", "\n6 * 7\n"],
  ["<thinking>6 * 7</thinking>42", "42", "6 * 7"],
  ["<think></think>42", "42", ""],
  ["<think>6 * 7</think>", "", "6 * 7"],
  ["<think>6 * 7", "", "6 * 7"],
  ["<think>6 * 7</thin", "", "6 * 7</thin"],
  ["<think>1 < 2 </ 3</think>42", "42", "1 < 2 </ 3"],
  ["<think>a</think>b<think>c</think>", "b<think>c</think>", "a"],
  ["42", "42", ""],
  ["", "", ""],
  ["<", "<", ""],
  ["<thin", "<thin", ""],
  ["<table>", "<table>", ""],
  ["  42", "  42", ""],
  ["The tag <think> opens it", "The tag <think> opens it", ""],
  ["<think>a</thinking>b</think>c", "c", "a</thinking>b"],
];

describe("a section in think tags", () => {
  it.each(rows)("%j is the text %j and the reasoning %j", (written, text, reasoning) => {
    expect(splitThinking(written)).toEqual({ text, reasoning });
    expect(splitTokens(written.split(""))).toEqual({ text, reasoning });
  });

  it("may lack its opening tag in a whole reply", () => {
    expect(splitThinking("6 * 7\n</think>\n42")).toEqual({ text: "42", reasoning: "6 * 7\n" });
  });

  it("holds back only what may become a tag", () => {
    const splitter = new ThinkSplitter();
    const texts = ["<thi", "nk>a", "b</", "i></think", ">c", "d"].map((one) => splitter.push(one));
    expect(texts).toEqual([
      { text: "", reasoning: "" },
      { text: "", reasoning: "a" },
      { text: "", reasoning: "b" },
      { text: "", reasoning: "</i>" },
      { text: "c", reasoning: "" },
      { text: "d", reasoning: "" },
    ]);
    expect(new ThinkSplitter().push("Hello")).toEqual({ text: "Hello", reasoning: "" });
  });

  it("is the same however the text is divided into tokens", () => {
    const part = fc.constantFrom(
      "<think>",
      "</think>",
      "<thinking>",
      "</thinking>",
      "<",
      "</t",
      " ",
    );
    const written = fc
      .array(fc.oneof(part, fc.string({ maxLength: 4 })), { maxLength: 12 })
      .map((parts) => parts.join(""));
    const cuts = fc.array(fc.nat({ max: 60 }), { maxLength: 12 });
    fc.assert(
      fc.property(
        fc.oneof(written, fc.constantFrom(...rows.map(([one]) => one))),
        cuts,
        (all, at) => {
          expect(splitTokens(cutAt(all, at))).toEqual(splitTokens([all]));
        },
      ),
    );
  });

  it("loses nothing but tags and white space", () => {
    const written = fc.array(fc.constantFrom("<think>", "</think>", "a", "<", " ", "b c"));
    fc.assert(
      fc.property(written, (parts) => {
        const { text, reasoning } = splitTokens([parts.join("")]);
        const visible = (all: string) => all.replace(/<\/?think>|\s/g, "");
        expect(visible(reasoning + text)).toBe(visible(parts.join("")));
      }),
    );
  });
});

/** Splits a text that is streamed in these tokens. */
function splitTokens(tokens: readonly string[]): SplitText {
  const splitter = new ThinkSplitter();
  const split = [...tokens.map((token) => splitter.push(token)), splitter.end()];
  return {
    text: split.map(({ text }) => text).join(""),
    reasoning: split.map(({ reasoning }) => reasoning).join(""),
  };
}

function cutAt(text: string, places: readonly number[]): readonly string[] {
  const ends = [...new Set([...places.filter((at) => at < text.length), text.length])];
  ends.sort((a, b) => a - b);
  return ends.map((end, i) => text.slice(ends[i - 1] ?? 0, end));
}
