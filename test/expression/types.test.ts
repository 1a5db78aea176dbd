import { expect, it } from "vitest";
import { z } from "zod";
import { valueTypeOfJsonSchema } from "../../src/expression/types.ts";

const any = { kind: "any" };
const string = { kind: "string" };

it.each<[Record<string, unknown>, unknown]>([
  [{}, any],
  [{ type: "string" }, string],
  [{ type: "string", enum: ["a", "b"] }, string],
  [{ enum: ["a", "b"] }, string],
  [{ enum: ["a", 1] }, any],
  [{ const: true }, { kind: "bool" }],
  [{ type: "integer", minimum: 0 }, { kind: "int" }],
  [{ type: "number" }, { kind: "double" }],
  [{ type: "boolean" }, { kind: "bool" }],
  [{ type: "null" }, { kind: "null" }],
  [{ type: ["string", "null"] }, any],
  [{ anyOf: [{ type: "string" }, { type: "null" }] }, any],
  [{ $ref: "#/$defs/x", type: "string" }, any],
  [{ type: "string", nullable: true }, any],
  [{ type: "array" }, { kind: "list", of: any }],
  [
    { type: "array", items: { type: "string" } },
    { kind: "list", of: string },
  ],
  [
    { type: "array", prefixItems: [{ type: "string" }], items: { type: "null" } },
    { kind: "list", of: any },
  ],
  [{ type: "object" }, { kind: "object", fields: {}, open: true }],
  [
    { type: "object", properties: { a: { type: "string" } } },
    { kind: "object", fields: { a: string }, open: true },
  ],
  [
    { type: "object", properties: { a: { type: "string" } }, additionalProperties: false },
    { kind: "object", fields: { a: string }, open: false },
  ],
  [
    { type: "object", patternProperties: { "^x": {} }, additionalProperties: false },
    { kind: "object", fields: {}, open: true },
  ],
  [
    { type: "object", additionalProperties: { type: "integer" } },
    { kind: "map", of: { kind: "int" } },
  ],
  [
    { type: "object", properties: { a: true }, additionalProperties: { type: "integer" } },
    { kind: "object", fields: { a: any }, open: true },
  ],
])("reads %j", (schema, type) => {
  expect(valueTypeOfJsonSchema(schema)).toEqual(type);
});

it("reads what zod writes", () => {
  const schema = z.strictObject({
    choice: z.enum(["a", "b"]),
    scores: z.array(z.number()),
    note: z.string().nullable(),
  });
  expect(valueTypeOfJsonSchema(z.toJSONSchema(schema))).toEqual({
    kind: "object",
    fields: { choice: string, scores: { kind: "list", of: { kind: "double" } }, note: any },
    open: false,
  });
});

it("stops in a schema that holds itself", () => {
  const schema: Record<string, unknown> = { type: "array" };
  schema["items"] = schema;
  expect(JSON.stringify(valueTypeOfJsonSchema(schema))).toMatch(
    /^(\{"kind":"list","of":){13}\{"kind":"any"\}+$/,
  );
});
