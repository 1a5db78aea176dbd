import { describe, expect, it } from "vitest";
import {
  checkValue,
  fieldOf,
  initialValue,
  problemsAt,
  type Schema,
  variantOf,
} from "../../web/components/schema/fields.ts";

const order: Schema = {
  type: "object",
  required: ["item", "count", "to"],
  properties: {
    item: { enum: ["chair", "desk"] },
    count: { type: "integer", minimum: 1, maximum: 10, default: 2 },
    gift: { type: "boolean" },
    kind: { const: "order" },
    note: { type: "string", maxLength: 2_000 },
    to: { $ref: "#/$defs/address" },
    tags: { type: "array", items: { type: "string", minLength: 1 }, maxItems: 2 },
  },
  $defs: {
    address: {
      allOf: [
        { type: "object", properties: { "a/b~c": { type: "string", format: "email" } } },
        { properties: { zip: { type: "string" } }, required: ["a/b~c"] },
      ],
    },
  },
};

describe("fields of a schema", () => {
  it("asks for each type of value in its way", () => {
    const kinds = (schema: Schema) => {
      const field = fieldOf(schema, order);
      return field.kind === "object"
        ? Object.fromEntries(
            field.members.map(({ name, schema: of }) => [name, fieldOf(of, order).kind]),
          )
        : field.kind;
    };
    expect(kinds(order)).toEqual({
      item: "choice",
      count: "number",
      gift: "boolean",
      kind: "fixed",
      note: "text",
      to: "object",
      tags: "list",
    });
    expect(kinds({ $ref: "#/$defs/address" })).toEqual({ "a/b~c": "text", zip: "text" });
    expect(kinds({ type: ["string", "null"] })).toBe("variants");
    expect(kinds({ anyOf: [{ const: 1 }, { const: 2 }] })).toBe("choice");
    expect(fieldOf({ type: "integer", exclusiveMinimum: 0 }, order)).toMatchObject({ min: 1 });
    expect(fieldOf({ type: "string", maxLength: 2_000 }, order)).toMatchObject({ isLong: true });
  });

  it.each<[string, unknown]>([
    ["no schema", null],
    ["a schema that allows everything", {}],
    ["an object without named members", { type: "object" }],
    [
      "a required member that is not described",
      { type: "object", properties: {}, required: ["a"] },
    ],
    ["a tuple", { type: "array", prefixItems: [{}], items: {} }],
    ["a reference elsewhere", { $ref: "https://example.com/schema" }],
    ["a reference to itself", { $ref: "#" }],
    ["too many options", { enum: Array.from({ length: 501 }, (_, index) => index) }],
  ])("asks for JSON for %s", (_name, schema) => {
    expect(fieldOf(schema, { $ref: "#" }).kind).toBe("raw");
  });

  it("begins with defaults, constants and what is required", () => {
    expect(initialValue(order, order)).toEqual({ count: 2, to: {} });
    const list = { type: "array", minItems: 2, items: { const: 7 } };
    expect(initialValue(list, list)).toEqual([7, 7]);
  });

  it("points to what is wrong", () => {
    const value = { count: 11.5, to: { "a/b~c": "nobody" }, tags: ["a", "", "c"], note: 1 };
    expect(checkValue(order, value, order)).toEqual([
      { pointer: "/item", detail: "Required." },
      { pointer: "/count", detail: "Expected a whole number." },
      { pointer: "/note", detail: "Expected a text." },
      { pointer: "/to/a~1b~0c", detail: "Expected an email address." },
      { pointer: "/tags", detail: "At most 2 items." },
    ]);
    const right = { item: "desk", count: 10, to: { "a/b~c": "ada@example.com" }, tags: ["a"] };
    expect(checkValue(order, right, order)).toEqual([]);
  });

  it("gives each problem to the field that shows it", () => {
    const problems = ["/to/zip", "/to", "/tags/0/x", "/unknown", ""].map((pointer) => ({
      pointer,
      detail: "",
    }));
    const at = (pointer: string, members: string[] = []) =>
      problemsAt(problems, pointer, members).map((one) => one.pointer);
    expect(at("/to", ["/to/zip"])).toEqual(["/to"]);
    expect(at("/tags/0")).toEqual(["/tags/0/x"]);
    expect(at("", ["/to", "/tags"])).toEqual(["/unknown", ""]);
  });

  it("finds the variant of a value, and the problems of the closest one", () => {
    const options = [
      { title: "by mail", properties: { way: { const: "mail" }, to: { type: "string" } } },
      { title: "by phone", properties: { way: { const: "phone" }, number: { type: "integer" } } },
    ].map((one) => ({ ...one, type: "object", required: Object.keys(one.properties) }));
    const schema = { oneOf: options };
    const field = fieldOf(schema, schema);
    expect(field).toMatchObject({ options: [{ title: "by mail" }, { title: "by phone" }] });
    const variants = options.map((one) => ({ schema: one }));
    expect(variantOf(variants, { way: "phone", number: 1 }, schema)).toBe(1);
    expect(variantOf(variants, "text", schema)).toBe(0);
    expect(checkValue(schema, { way: "phone", number: "x" }, schema)).toContainEqual({
      pointer: "/number",
      detail: "Expected a number.",
    });
  });

  it("stays small for a schema that grows without end", () => {
    const names = Array.from({ length: 100 }, (_, index) => `m${index}`);
    const tree: Schema = {
      type: "object",
      required: names,
      properties: Object.fromEntries(names.map((name) => [name, { $ref: "#" }])),
    };
    expect(JSON.stringify(initialValue(tree, tree)).length).toBeLessThan(100_000);
    const choices: Schema = {
      anyOf: Array.from({ length: 20 }, () => ({ $ref: "#/$defs/again" })),
    };
    const root = { $defs: { again: choices } };
    expect(checkValue(choices, {}, root).length).toBeLessThan(2_000);
  });

  it("reads no member that a value only inherits", () => {
    const schema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"string"},"toString":{"type":"string"}},"required":["toString"]}',
    ) as Schema;
    expect(checkValue(schema, {}, schema)).toEqual([{ pointer: "/toString", detail: "Required." }]);
    expect(Object.getPrototypeOf(initialValue(schema, schema))).toBe(Object.prototype);
  });
});
