import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { foundSpans, spansByLeaf, textsOf, withTexts } from "../../src/guardrails/value-texts.ts";

const linesOf = (value: unknown) => textsOf(value).leaves.map(({ text }) => text);
const spanOf = (text: string, word: string) => {
  const start = text.indexOf(word);
  return { start, end: start + word.length, label: "WORD" };
};

describe("textsOf", () => {
  it("has texts and long numbers in order, one a line", () => {
    const value = { owner: "Ada", parts: ["a", 3, 1_234_567], note: null, is_new: true };
    expect(textsOf(value).text).toBe("Ada\na\n1234567");
    expect(textsOf("Ada").text).toBe("Ada");
    expect(textsOf(3).text).toBe("");
  });

  it("has names of properties that are no plain names, before what they name", () => {
    const value = { "ada@x.io": { Ada: "b" }, "two words": 1, "4111111111111111": "c" };
    expect(linesOf(value)).toEqual(["ada@x.io", "Ada", "b", "two words", "4111111111111111", "c"]);
  });

  it.each(["order_id", "firstName", "line-2", "sha256", "$ref", "_", "17", "123456", ""])(
    "takes %j for a plain name",
    (name) => {
      expect(linesOf({ [name]: "a" })).toEqual(["a"]);
    },
  );

  it.each(["1234567", "a.b", "ada@x.io", "k12345", "a".repeat(41), "ü"])(
    "takes %j for a text",
    (name) => {
      expect(linesOf({ [name]: 1 })).toEqual([name]);
    },
  );
});

describe("foundSpans", () => {
  const found = (value: unknown, ...words: readonly string[]) => {
    const texts = textsOf(value);
    const spans = words.map((word) => spanOf(texts.text, word));
    return foundSpans(texts, spansByLeaf(texts, spans));
  };

  it("tells the place of a text as a JSON pointer", () => {
    expect(found({ "a/b": ["x", "by Ada"] }, "Ada")).toEqual([
      { path: "/a~1b/1", start: 3, end: 6, label: "WORD" },
    ]);
    expect(found("by Ada", "Ada")).toEqual([{ path: "", start: 3, end: 6, label: "WORD" }]);
  });

  it("tells the place of a name with # after it, and what was found in a name in no path", () => {
    expect(found({ by: { "of Ada": { at: "Bob" } } }, "Ada", "Bob")).toEqual([
      { path: "/by/of <WORD>#", start: 3, end: 6, label: "WORD" },
      { path: "/by/of <WORD>/at", start: 0, end: 3, label: "WORD" },
    ]);
  });

  it("makes one span in each line of one that goes over lines", () => {
    expect(found(["ab", "", "cd"], "b\n\nc")).toEqual([
      { path: "/0", start: 1, end: 2, label: "WORD" },
      { path: "/2", start: 0, end: 1, label: "WORD" },
    ]);
  });
});

describe("withTexts", () => {
  it("replaces texts, numbers and names by their number among the leaves", () => {
    const value = { "ada@x.io": ["a", 1_234_567], b: "c" };
    const texts = new Map([
      [0, "K"],
      [2, "N"],
    ]);
    expect(withTexts(value, texts)).toEqual({ K: ["a", "N"], b: "c" });
  });

  it("keeps properties apart whose names become the same", () => {
    const texts = new Map([
      [0, "<X>"],
      [1, "<X>"],
      [2, "<X>"],
    ]);
    expect(withTexts({ "a.a": 1, "b.b": 2, "c.c": 3 }, texts)).toEqual({
      "<X>": 1,
      "<X> (2)": 2,
      "<X> (3)": 3,
    });
  });

  it("gives the value itself where nothing is replaced", () => {
    const value = { a: ["b"] };
    expect(withTexts(value, new Map())).toBe(value);
  });
});

it("finds the same leaves when it reads a value and when it replaces in it", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const { leaves } = textsOf(value);
      const same = new Map(leaves.map(({ text }, at) => [at, text]));
      expect(linesOf(withTexts(value, same))).toEqual(leaves.map(({ text }) => text));
    }),
  );
});

it("gives each leaf the spans that a look at every pair gives it", () => {
  const texts = fc.array(fc.string({ maxLength: 4 }), { maxLength: 6 });
  const spans = fc.array(fc.record({ start: fc.nat(30), end: fc.nat(30) }), { maxLength: 6 });
  fc.assert(
    fc.property(texts, spans, (value, places) => {
      const all = textsOf(value);
      const labelled = places
        .map((place) => ({ ...place, label: "X" }))
        .toSorted((a, b) => a.start - b.start);
      const byPair = all.leaves.flatMap(({ start, text }, at) => {
        const own = labelled.flatMap((span) => {
          const from = Math.max(span.start - start, 0);
          const to = Math.min(span.end - start, text.length);
          return from < to ? [{ start: from, end: to, label: "X" }] : [];
        });
        return own.length === 0 ? [] : [[at, own] as const];
      });
      const made = [...spansByLeaf(all, labelled)].toSorted(([a], [b]) => a - b);
      expect(made).toEqual(byPair);
    }),
  );
});
