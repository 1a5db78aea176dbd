import { AIMessage, HumanMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diffValues, maxWords, sameValue } from "../../src/values/diff.ts";

const texts = (before: unknown, after: unknown) =>
  diffValues(before, after).changes.map(({ text }) => text);

describe("the difference of two values", () => {
  it("names what was added to the end of a list, and where", () => {
    expect(texts(["a"], ["a", "b", "c"])).toEqual(['+2 elements at 1: "b", "c"']);
    expect(texts({ notes: ["a", "b"] }, { notes: ["b"] })).toEqual(['notes: −1 element at 0: "a"']);
    expect(texts([1, 2, 3, 4], [1, 9, 4])).toEqual(["[1]: 2 → 9", "−1 element at 2: 3"]);
  });

  it("goes into objects by path", () => {
    expect(texts({ a: { b: 1, c: 2 }, d: 1 }, { a: { b: 1, c: 3 }, "e f": null })).toEqual([
      "a.c: 2 → 3",
      "d: removed 1",
      '["e f"]: added null',
    ]);
  });

  it("compares lists of named things by name", () => {
    const before = [
      { name: "one", at: 1 },
      { name: "two", at: 2 },
    ];
    expect(
      texts(before, [
        { name: "two", at: 3 },
        { name: "three", at: 3 },
      ]),
    ).toEqual([
      '[one]: removed {"name":"one","at":1}',
      "[two].at: 2 → 3",
      '[three]: added {"name":"three","at":3}',
    ]);
    expect(texts(before, before.toReversed())).not.toEqual([]);
  });

  it("says messages and steps in words", () => {
    const hello = new HumanMessage({ content: "Hello  there", id: "1" });
    const asks = new AIMessage({
      content: "",
      id: "2",
      tool_calls: [{ id: "c", name: "send", args: {} }],
    });
    expect(texts([], [hello, asks])).toEqual([
      '+2 elements at 0: human: "Hello there", ai: calls send',
    ]);
    const step = {
      step_index: 3,
      turn_number: 1,
      next_action: "use_tools",
      thought: "I have to ask.",
      tool_predictions: [{ name: "send" }],
    };
    expect(texts([], [step])).toEqual([
      "+1 element at 0: step 3 of turn 1 calls send: I have to ask.",
    ]);
    const other = new HumanMessage({ content: "Bye", id: "1" });
    expect(texts([hello], [other])).toEqual(['[0].content: "Hello there" → "Bye"']);
    expect(texts([hello], [new HumanMessage({ content: "Hello  there", id: "1" })])).toEqual([]);
  });

  it("leaves out what is over the limit, and counts it", () => {
    const before = Object.fromEntries(Array.from({ length: 9 }, (_, key) => [`k${key}`, 0]));
    const after = Object.fromEntries(Object.keys(before).map((key) => [key, "x".repeat(10_000)]));
    const { changes, omitted } = diffValues(before, after, { limit: 4 });
    expect([changes.length, omitted]).toEqual([4, 5]);
    expect(changes.every(({ text }) => text.length < 200)).toBe(true);
  });

  const value = fc.jsonValue({ maxDepth: 5 });
  it("is none for equal values, and there is one for any others", () => {
    fc.assert(
      fc.property(value, value, (a, b) => {
        const copy: unknown = JSON.parse(JSON.stringify(a));
        expect(diffValues(a, copy)).toEqual({ changes: [], omitted: 0 });
        const isSame = JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
        expect(sameValue(a, b)).toBe(isSame);
        expect(diffValues(a, b).changes.length > 0).toBe(!isSame);
      }),
    );
  });

  it("names every change of an object's field", () => {
    const fields = fc.dictionary(fc.stringMatching(/^[a-z]{1,4}$/), fc.integer());
    fc.assert(
      fc.property(fields, fields, (a, b) => {
        const changed = [...new Set([...Object.keys(a), ...Object.keys(b)])].filter(
          (key) => !Object.is(a[key], b[key]),
        );
        const { changes } = diffValues(a, b, { limit: 1000 });
        expect(changes.map(({ path }) => path).toSorted()).toEqual(changed.toSorted());
      }),
    );
  });

  it("is bounded whatever the values are", () => {
    fc.assert(
      fc.property(value, value, (a, b) => {
        for (const { path, text, before, after } of diffValues(a, b, { limit: 5 }).changes) {
          expect(path.length).toBeLessThanOrEqual(180);
          expect(Math.max(before?.length ?? 0, after?.length ?? 0)).toBeLessThanOrEqual(
            4 * maxWords,
          );
          expect(text.length).toBeLessThanOrEqual(600);
        }
      }),
    );
  });
});

/** Keys in order, so that equal values have equal texts; −0 is 0 in JSON. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => [key, sorted(inner)] as const);
  return { entries: entries.toSorted(([a], [b]) => (a < b ? -1 : 1)) };
}
