import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { jsonSchemaProblems } from "../../../src/definition/check/json-schema-problems.ts";
import {
  checkFromJsonSchema,
  type JsonSchema,
} from "../../../src/definition/schema/json-schema.ts";
import { describeProblem } from "../../../src/definition/check/problems.ts";

const problemsOf = (schema: JsonSchema) => jsonSchemaProblems(schema, ["s"]).map(describeProblem);
const withProperty = (property: unknown) => ({ type: "object", properties: { p: property } });

describe("a schema that would not be checked as it is written", () => {
  it.each([
    [
      { type: "strin" },
      'type: not one of the types (found "strin"; allowed: object, array, string, number, integer, boolean, null; did you mean "string"?)',
    ],
    [
      { type: ["string", 5] },
      "type[1]: not one of the types (found 5; allowed: object, array, string, number, integer, boolean, null)",
    ],
    [{ propertes: {} }, 'propertes: no keyword of JSON Schema (did you mean "properties"?)'],
    [{ not: { type: "string" } }, "not: this keyword is not checked: say what is allowed"],
    [{ type: "object", if: {} }, "if: this keyword is not checked: use anyOf"],
    [
      { type: "string", nullable: true },
      'nullable: this keyword is not checked: use type: [..., "null"]',
    ],
    [{ minLength: 3 }, "minLength: not checked without a type: add type: string"],
    [{ $ref: "#", required: ["a"] }, "required: not checked next to $ref: put both into allOf"],
    [
      { $ref: "#/$defs/thng" },
      'expected a reference to one of the schema\'s own $defs (found "#/$defs/thng"; allowed: #, #/$defs/thing; did you mean "#/$defs/thing"?)',
    ],
    [
      { type: "string", pattern: "(" },
      "pattern: not a regular expression: Invalid regular expression: /(/: Unterminated group",
    ],
    [
      { type: "string", pattern: "^(?=.*[0-9])" },
      'pattern: the regular expression cannot be matched in linear time: it has a lookahead "(?="',
    ],
    [
      { type: "object", patternProperties: { "(a)\\1": {} } },
      'the regular expression cannot be matched in linear time: it has the backreference "\\1"',
    ],
    [{ type: "array", items: 5 }, "items: expected a JSON Schema (found 5)"],
    [{ anyOf: [] }, "anyOf: expected a list of JSON Schemas (found an empty list)"],
    [{ type: "number", minimum: "1" }, 'minimum: expected a number (found "1")'],
    [
      { type: "string", maxLength: -1 },
      "maxLength: expected a whole number of at least 0 (found -1)",
    ],
    [{ type: "object", required: "a" }, 'required: expected a list of texts (found "a")'],
    [{ enum: [{}] }, "enum: expected a list of texts, numbers, true, false or null (found a list)"],
  ])("%j", (property, problem) => {
    const found = problemsOf({ ...withProperty(property), $defs: { thing: { type: "string" } } });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(/^s\.properties\.p[.[]?/);
    expect(found[0]?.slice(-problem.length)).toBe(problem);
  });

  it("is told all of it", () => {
    const schema = { type: "object", properties: { a: { type: "x" }, b: { nope: 1 } } };
    expect(problemsOf(schema)).toHaveLength(2);
  });
});

it.each([
  [{ type: "object", description: "d", title: "t", "x-order": 1, examples: [{}] }],
  [{ type: ["object", "null"], properties: { a: true }, additionalProperties: false }],
  [{ type: "object", properties: { next: { $ref: "#" } } }],
  [
    {
      type: "object",
      properties: { a: { $ref: "#/$defs/a~1b" } },
      $defs: { "a/b": { enum: [1, null] } },
    },
  ],
  [{ anyOf: [{ type: "string" }, { type: "array", items: { type: "integer" } }] }],
  [{ type: "object", properties: { never: { not: {} } } }],
])("accepts %j", (schema) => {
  expect(problemsOf(schema)).toEqual([]);
});

it("accepts only what can be compiled, whatever is written", () => {
  const keyword = fc.constantFrom(
    "type",
    "items",
    "properties",
    "enum",
    "$ref",
    "anyOf",
    "pattern",
    "required",
    "minimum",
  );
  const schema = fc.dictionary(
    keyword,
    fc.oneof(fc.jsonValue(), fc.constantFrom("string", "object", "#")),
  );
  fc.assert(
    fc.property(schema, (written) => {
      if (problemsOf(written).length > 0) return;
      expect(checkFromJsonSchema(written).check({}).ok).toBeTypeOf("boolean");
    }),
    { numRuns: 500 },
  );
});

it("answers for a schema that refers to itself without end", () => {
  const schema = checkFromJsonSchema({ type: "object", allOf: [{ $ref: "#" }] });
  expect(schema.check({})).toMatchObject({ ok: false });
});
