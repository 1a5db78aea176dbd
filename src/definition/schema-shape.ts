import { isRecord } from "../state/is-record.ts";

/** Keywords whose value is a schema, or a list of schemas. */
const ofSchemas = new Set([
  "additionalItems",
  "additionalProperties",
  "allOf",
  "anyOf",
  "contains",
  "contentSchema",
  "else",
  "if",
  "items",
  "not",
  "oneOf",
  "prefixItems",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
]);

/** Keywords whose value holds schemas by names that are nobody's keywords. */
const ofNamedSchemas = new Set([
  "$defs",
  "definitions",
  "dependencies",
  "dependentSchemas",
  "patternProperties",
  "properties",
]);

/**
 * A JSON Schema without its `default`s. They may be made anew whenever a zod schema is read, as the time of day is, and
 * they say nothing of what is valid. What only looks like one stays: a property of that name, and data.
 * What is no object is returned as it is.
 */
export function withoutDefaults<Schema>(schema: Schema): Schema {
  if (!isRecord(schema)) return schema;
  const kept = Object.entries(schema).filter(([keyword]) => keyword !== "default");
  return Object.fromEntries(
    kept.map(([keyword, value]) => [keyword, withoutDefaultsIn(keyword, value)]),
  ) as Schema;
}

function withoutDefaultsIn(keyword: string, value: unknown): unknown {
  if (ofSchemas.has(keyword)) {
    return Array.isArray(value)
      ? value.map((one: unknown) => withoutDefaults(one))
      : withoutDefaults(value);
  }
  if (!ofNamedSchemas.has(keyword) || !isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, schema]) => [name, withoutDefaults(schema)]),
  );
}
