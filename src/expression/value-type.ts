/** The shape of a value an expression may read. */
export type ValueType =
  | { readonly kind: "any" | "string" | "int" | "double" | "bool" | "null" }
  | { readonly kind: "list"; readonly of: ValueType }
  /** Any key, all values alike. */
  | { readonly kind: "map"; readonly of: ValueType }
  | {
      readonly kind: "object";
      readonly fields: Readonly<Record<string, ValueType>>;
      /** Whether further fields, of any type, may be there. */
      readonly open: boolean;
    };

export type JsonSchema = Readonly<Record<string, unknown>>;

const any: ValueType = { kind: "any" };

/** Levels of a schema that are read; what lies below is `any`. Schemas may be cyclic objects. */
const maxDepth = 12;

/**
 * What a JSON Schema says about a value, as far as that is exact: unions, references and schemas without a `type` are
 * `any`. An object is open unless it has `additionalProperties: false` and no `patternProperties`.
 */
export function valueTypeOfJsonSchema(schema: JsonSchema): ValueType {
  return typeOf(schema, 0);
}

function typeOf(schema: unknown, depth: number): ValueType {
  if (!isSchema(schema) || depth > maxDepth) return any;
  if (schema["$ref"] !== undefined || schema["nullable"] === true) return any;
  switch (schema["type"]) {
    case "string":
      return { kind: "string" };
    case "integer":
      return { kind: "int" };
    case "number":
      return { kind: "double" };
    case "boolean":
      return { kind: "bool" };
    case "null":
      return { kind: "null" };
    case "array":
      return {
        kind: "list",
        of: schema["prefixItems"] === undefined ? typeOf(schema["items"], depth + 1) : any,
      };
    case "object":
      return objectType(schema, depth);
    default:
      return typeOfLiterals(schema);
  }
}

function objectType(schema: JsonSchema, depth: number): ValueType {
  const { properties, patternProperties, additionalProperties } = schema;
  if (properties === undefined && patternProperties === undefined && isSchema(additionalProperties))
    return { kind: "map", of: typeOf(additionalProperties, depth + 1) };
  const fields = isSchema(properties) ? Object.entries(properties) : [];
  return {
    kind: "object",
    fields: Object.fromEntries(fields.map(([name, field]) => [name, typeOf(field, depth + 1)])),
    open: additionalProperties !== false || patternProperties !== undefined,
  };
}

/** `enum` and `const` of strings or of booleans say the type as well. */
function typeOfLiterals(schema: JsonSchema): ValueType {
  if (schema["type"] !== undefined) return any;
  const literals = "const" in schema ? [schema["const"]] : schema["enum"];
  if (!Array.isArray(literals) || literals.length === 0) return any;
  if (literals.every((literal) => typeof literal === "string")) return { kind: "string" };
  if (literals.every((literal) => typeof literal === "boolean")) return { kind: "bool" };
  return any;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
