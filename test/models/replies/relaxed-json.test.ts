import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readRelaxedJson } from "../../../src/models/replies/relaxed-json.ts";

describe("readRelaxedJson", () => {
  it.each<[string, object]>([
    ['{"a": 1, "b": [2,],}', { a: 1, b: [2] }],
    ["{'a': 'it\\'s', \"b\": \"it's\"}", { a: "it's", b: "it's" }],
    ["{a: 1, $b_2: -2.5e3, 'c-d': null}", { a: 1, $b_2: -2500, "c-d": null }],
    ["[True, False, None, true]", [true, false, null, true]],
    ['{"a": 1, // one\n "b": /* two */ 2 # three\n}', { a: 1, b: 2 }],
    ['{"a": "x\ny\tz"}', { a: "x\ny\tz" }],
    ['{"a": "# no // comment", "b": "},"}', { a: "# no // comment", b: "}," }],
    ["{}", {}],
  ])("reads %j", (text, value) => {
    expect(readRelaxedJson(text)).toMatchObject({ ok: true, value, end: text.length });
  });

  it.each([
    '{"a": 1',
    '{"a": "x',
    "{'a': 'x",
    '{"a": 1 /* one }',
    '{"a": [1}',
    '{"a": 1 "b": 2}',
    '{"a": "say "hi" now"}',
    '{"a": }',
    '{"a"}',
    "{a: b}",
    "{a: TRUE}",
    "{a: None.x}",
    "[1, , 2]",
    "[1, 2, ...]",
    '{"a": "\\d"}',
    '{"a": "\\x41"}',
    '{"a": 1, "a": 2}',
    "{a: 012}",
    "{a: 1_000}",
    "{a: .5}",
    "{a: NaN}",
    "[#fff\n]",
    "(1, 2)",
    "a",
    "",
  ])("refuses %j", (text) => {
    expect(readRelaxedJson(text)).toMatchObject({ ok: false });
  });

  it("stops after the closing bracket, and counts levels", () => {
    expect(readRelaxedJson('x {"a": [{}]} {', 2)).toEqual({
      ok: true,
      value: { a: [{}] },
      end: 13,
      depth: 3,
    });
  });

  it("keeps a key named __proto__ as data", () => {
    const read = readRelaxedJson("{'__proto__': {'a': 1}}");
    const value = read.ok ? read.value : {};
    expect(Object.keys(value)).toEqual(["__proto__"]);
    expect("a" in value).toBe(false);
  });

  it("refuses more than 200 levels", () => {
    const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
    expect(readRelaxedJson(nested(200)).ok).toBe(true);
    expect(readRelaxedJson(nested(201))).toEqual({
      ok: false,
      problem: "it is nested more than 200 levels deep",
    });
  });

  it("reads all JSON, and no beginning of it", () => {
    const value = fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.jsonValue()));
    fc.assert(
      fc.property(value, fc.constantFrom(0, 2), fc.nat(), (given, indent, at) => {
        const json = JSON.stringify(given, null, indent);
        expect(readRelaxedJson(json)).toMatchObject({ ok: true, value: JSON.parse(json) });
        expect(readRelaxedJson(json.slice(0, at % json.length)).ok).toBe(false);
      }),
    );
  });

  it("never throws", () => {
    const piece = fc.constantFrom(..."{|}|[|]|\"|'|:|,|\n|\\|//|/*|*/|# |a|1|None".split("|"));
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, fc.string()), { maxLength: 40 }), (pieces) => {
        expect(readRelaxedJson(pieces.join("")).ok).toBeTypeOf("boolean");
      }),
      { numRuns: 500 },
    );
  });
});
