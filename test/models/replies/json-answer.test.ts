import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJsonAnswer } from "../../../src/models/replies/json-answer.ts";

describe("parseJsonAnswer", () => {
  it.each<[string, unknown]>([
    ['{"a": 1}', { a: 1 }],
    [" [1, 2] \n", [1, 2]],
    ["42", 42],
    ['"text"', "text"],
    ['```json\n{"a": 1}\n```', { a: 1 }],
    ['Here it is:\n\n```\n{"a": 1}\n```\nAnything else?', { a: 1 }],
    ['The answer is {"a": {"b": [1]}} (see [2]).', { a: { b: [1] } }],
    ['Like {"a": 0}, so: {"a": 1}', { a: 1 }],
    ['[note] {"a": "}"}', { a: "}" }],
    ['<think>{"a": 0, "b": 0}</think>{"a": 1}', { a: 1 }],
    ['{"a": 1, // one\n "b": [2,], /* two */ }', { a: 1, b: [2] }],
    ["{'a': 'it', b: True}", { a: "it", b: true }],
    ['{"a": "say "hi" now"}', { a: 'say "hi" now' }],
    ['Well: {"a": [1, {"b": 2}', { a: [1, { b: 2 }] }],
    ["{}", {}],
  ])("finds the JSON in %j", (text, value) => {
    expect(parseJsonAnswer(text)).toEqual({ ok: true, value });
  });

  it.each([
    ["", "The answer is empty; it must be JSON."],
    ["I do not know.", "The answer has no JSON object or array."],
    ['{"a": "cut o', "The answer's JSON could not be read: it ends inside a string."],
    [
      '{"a": {"b": 1}, "c": "cut o',
      "The answer's JSON could not be read: it ends inside a string.",
    ],
  ])("says what is wrong with %j", (text, problem) => {
    expect(parseJsonAnswer(text)).toEqual({ ok: false, problem });
  });

  it("says where JSON is wrong", () => {
    const read = parseJsonAnswer("Use {name} here.");
    expect(read).toMatchObject({ ok: false });
    expect(JSON.stringify(read)).toContain("could not be read");
  });

  it("refuses JSON that is nested too deeply to be walked", () => {
    const deep = "[".repeat(5000) + "]".repeat(5000);
    expect(parseJsonAnswer(`{"a": ${deep}}`).ok).toBe(false);
    expect(parseJsonAnswer(deep).ok).toBe(false);
  });

  it("mends trailing commas at any length", () => {
    const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, text: "a, ]" }));
    const text = JSON.stringify(rows).replaceAll("}", ",}");
    expect(parseJsonAnswer(text)).toEqual({ ok: true, value: rows });
  });

  it("finds any object, alone, in a code block or in prose", () => {
    const object = fc.dictionary(fc.string(), fc.jsonValue());
    const wrap = fc.constantFrom(
      (json: string) => json,
      (json: string) => `\`\`\`json\n${json}\n\`\`\``,
      (json: string) => `Sure!\n\`\`\`\n${json}\n\`\`\`\nDone.`,
      (json: string) => `It's this: ${json}. Don't ask.`,
    );
    fc.assert(
      fc.property(object, wrap, fc.constantFrom(0, 2), (value, around, indent) => {
        const json = JSON.stringify(value, null, indent);
        expect(parseJsonAnswer(around(json))).toEqual({ ok: true, value: JSON.parse(json) });
      }),
    );
  });

  it("never throws", () => {
    const piece = fc.constantFrom(
      ..."{|}|[|]|\"|'|:|,|\n|```|//|/*|*/|\\|a|1|null|<think>".split("|"),
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, fc.string()), { maxLength: 40 }), (pieces) => {
        expect(parseJsonAnswer(pieces.join("")).ok).toBeTypeOf("boolean");
      }),
      { numRuns: 500 },
    );
  });
});
