import { describe, expect, it } from "vitest";
import { zodFromJsonSchema } from "../../src/state/zod-from-json-schema.ts";

/** Backtracking takes 2^60 steps to see that it does not match. */
const hostile = "^(a+)+$";
const text = `${"a".repeat(60)}!`;

const accepts = (schema: Record<string, unknown>, value: unknown) =>
  zodFromJsonSchema(schema).safeParse(value).success;

describe("a pattern that backtracks without end", () => {
  const string = { type: "string", pattern: hostile };
  it.each([
    ["of the value itself", string, (one: string) => one],
    ["of several types", { ...string, type: ["null", "string"] }, (one: string) => one],
    ["of a property", { type: "object", properties: { p: string } }, (one: string) => ({ p: one })],
    ["with a description", { ...string, description: "d" }, (one: string) => one],
    ["with a default", { ...string, default: "a" }, (one: string) => one],
    ["of a read-only text", { ...string, readOnly: true }, (one: string) => one],
    ["in items", { type: "array", items: string }, (one: string) => [one]],
    ["in prefixItems", { type: "array", prefixItems: [string] }, (one: string) => [one]],
    ["in contains", { type: "array", contains: string }, (one: string) => [one]],
    [
      "in additionalProperties",
      { type: "object", additionalProperties: string },
      (one: string) => ({ p: one }),
    ],
    [
      "in propertyNames",
      { type: "object", propertyNames: { pattern: hostile } },
      (one: string) => ({ [one]: 1 }),
    ],
    ["in anyOf", { anyOf: [string, { type: "null" }] }, (one: string) => one],
    ["in oneOf", { oneOf: [string, { type: "null" }] }, (one: string) => one],
    ["in allOf", { allOf: [string, { type: "string" }] }, (one: string) => one],
    [
      "behind a reference",
      { type: "object", properties: { p: { $ref: "#/$defs/d" } }, $defs: { d: string } },
      (one: string) => ({ p: one }),
    ],
    [
      "behind a reference into a list",
      { type: "object", properties: { p: { $ref: "#/$defs/0" } }, $defs: [string] },
      (one: string) => ({ p: one }),
    ],
    [
      "in properties that are a list",
      { type: "object", properties: [string] },
      (one: string) => ({ 0: one }),
    ],
    [
      "in a value of patternProperties",
      { type: "object", patternProperties: { "^p": string } },
      (one: string) => ({ p: one }),
    ],
    [
      "of closed names",
      { type: "object", patternProperties: { [hostile]: {} }, additionalProperties: false },
      (one: string) => ({ [one]: 1 }),
    ],
  ])("is refused in linear time %s", (_, schema, valueWith) => {
    expect(accepts(schema, valueWith(text))).toBe(false);
    expect(accepts(schema, valueWith("aaa"))).toBe(true);
  });

  it.each([
    [
      "of patternProperties",
      { type: "object", patternProperties: { [hostile]: { type: "null" } } },
    ],
    [
      "of patternProperties beside properties",
      {
        type: "object",
        properties: { a: { type: "number" } },
        patternProperties: { [hostile]: { type: "null" } },
        minProperties: 1,
      },
    ],
  ])("leaves other keys alone %s", (_, schema) => {
    expect(accepts(schema, { [text]: 1 })).toBe(true);
    expect(accepts(schema, { aa: 1 })).toBe(false);
  });
});

describe("patterns", () => {
  it("are searched for anywhere in a text", () => {
    expect(accepts({ type: "string", pattern: "b" }, "abc")).toBe(true);
    expect(accepts({ type: "string", pattern: "^b" }, "abc")).toBe(false);
  });

  it("are named in an issue as they were written", () => {
    const { error } = zodFromJsonSchema({ type: "string", pattern: "^a/b" }).safeParse("c");
    expect(error?.issues.map(({ message }) => message)).toEqual([
      "Invalid string: must match pattern /^a/b/",
    ]);
  });

  it("close the names of an object together with its properties", () => {
    const schema = {
      type: "object",
      properties: { id: { type: "number" } },
      patternProperties: { "^x-": { type: "string" } },
      propertyNames: { maxLength: 3 },
      additionalProperties: false,
    };
    expect(accepts(schema, { id: 1, "x-a": "b" })).toBe(true);
    expect(accepts(schema, { y: 1 })).toBe(false);
    expect(accepts(schema, { "x-a": 1 })).toBe(false);
    expect(accepts(schema, { "x-ab": "b" })).toBe(false);
  });

  it("that cannot be matched are left out and named", () => {
    const schema = {
      type: "object",
      properties: {
        p: { type: "string", pattern: "(?=a)b", minLength: 2 },
        pattern: { type: "string", pattern: ["(a+)+$"] },
      },
      patternProperties: { "(?!a)": { type: "null" }, "^x": { type: "null" } },
      additionalProperties: false,
    };
    const { safeParse, unmatched } = zodFromJsonSchema(schema);
    expect(unmatched).toEqual([
      'properties/p/pattern: the regular expression cannot be matched in linear time: it has a lookahead "(?="',
      "properties/pattern/pattern: a pattern must be a string",
      'patternProperties/(?!a): the regular expression cannot be matched in linear time: it has a lookahead "(?!"',
    ]);
    expect(safeParse({ p: "cc", pattern: text, other: 1 }).success).toBe(true);
    expect(safeParse({ p: "c" }).success).toBe(false);
    expect(safeParse({ x: 1 }).success).toBe(false);
  });

  it("are found once in schemas that references make exponentially large", () => {
    const string = { type: "string", pattern: "a" };
    const defs = Array.from({ length: 60 }, (_, at) => {
      const next = { $ref: `#/$defs/d${at + 1}` };
      return [`d${at}`, { ...string, anyOf: [next, next] }] as const;
    });
    const $defs = { ...Object.fromEntries(defs), d60: string };
    const schema = { type: "object", properties: { p: { $ref: "#/$defs/d0" } }, $defs };
    expect(accepts(schema, { p: "aaa" })).toBe(true);
  });

  it("are data where no schema stands", () => {
    const schema = { type: "object", default: { pattern: "(?=a)" }, enum: [{ pattern: "(" }] };
    expect(zodFromJsonSchema(schema).unmatched).toEqual([]);
  });

  it("may not take more than the work of one check", () => {
    const { safeParse } = zodFromJsonSchema({
      type: "array",
      items: { type: "string", pattern: "^[ab]*a[ab]{900}$" },
    });
    const long = "ab".repeat(10_000);
    expect(safeParse([long]).success).toBe(false);
    expect(() => safeParse([long, long])).toThrow(
      "too much text to be matched with the schema's patterns",
    );
    expect(safeParse([long]).success).toBe(false);
  });
});
