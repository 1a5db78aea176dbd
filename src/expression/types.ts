import type { CelType } from "@bufbuild/cel";

/** The static type of a value that an expression may read. */
export type ValueType =
  | { readonly kind: "any" | "string" | "int" | "double" | "bool" | "null" }
  | { readonly kind: "list"; readonly of: ValueType }
  /** Arbitrary keys, with values of one type. */
  | { readonly kind: "map"; readonly of: ValueType }
  | {
      readonly kind: "object";
      readonly fields: Readonly<Record<string, ValueType>>;
      /** Whether additional fields of any type are allowed. */
      readonly open: boolean;
    };

export type JsonSchema = Readonly<Record<string, unknown>>;

const any: ValueType = { kind: "any" };

/** Maximum schema depth that is read; deeper values are `any`. Schemas may be cyclic objects. */
const maxDepth = 12;

/**
 * Returns the type that a JSON Schema describes. Unions, references and schemas without a `type` are `any`. An object
 * is open unless it has `additionalProperties: false` and no `patternProperties`.
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

/** Infers the type from an `enum` or `const` of strings or booleans. */
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

export const anyType: ValueType = { kind: "any" };
export const boolType: ValueType = { kind: "bool" };
export const stringType: ValueType = { kind: "string" };
export const doubleType: ValueType = { kind: "double" };
export const intType: ValueType = { kind: "int" };

/** The value types that CEL distinguishes in JSON, which has one type of number and one of map. */
type Family = "any" | "string" | "number" | "bool" | "null" | "list" | "map";

export function getFamily(type: ValueType): Family {
  if (type.kind === "int" || type.kind === "double") return "number";
  return type.kind === "object" ? "map" : type.kind;
}

/** Whether a value of the type may belong to one of the families. */
export function mayBe(type: ValueType, ...families: readonly Family[]): boolean {
  const family = getFamily(type);
  return family === "any" || families.includes(family) || families.includes("any");
}

const familyNames: Readonly<Record<Family, string>> = {
  any: "any value",
  string: "a string",
  number: "a number",
  bool: "true or false",
  null: "null",
  list: "a list",
  map: "a map",
};

/** Returns the name of a type for messages: `a string`, `true or false`. */
export function describeType(type: ValueType): string {
  return familyNames[getFamily(type)];
}

/** Returns the common type of two types, or `any`. */
export function commonType(one: ValueType, other: ValueType): ValueType {
  if (one.kind === other.kind && one.kind !== "object" && one.kind !== "list" && one.kind !== "map")
    return one;
  if (one.kind === "list" && other.kind === "list")
    return { kind: "list", of: commonType(one.of, other.of) };
  if (getFamily(one) === "number" && getFamily(other) === "number") return doubleType;
  return one === other ? one : anyType;
}

/** Converts a CEL type. Bytes, times, durations and types, which JSON lacks, become `any`. */
export function typeOfCel(type: CelType): ValueType {
  switch (type.kind) {
    case "list":
      return { kind: "list", of: typeOfCel(type.element) };
    case "map":
      return { kind: "map", of: typeOfCel(type.value) };
    case "scalar":
      return scalarTypes[type.scalar] ?? anyType;
    default:
      return anyType;
  }
}

const scalarTypes: Readonly<Record<string, ValueType>> = {
  string: stringType,
  int: intType,
  uint: intType,
  double: doubleType,
  bool: boolType,
  null_type: { kind: "null" },
};

/** Whether an argument of the type is accepted where CEL expects `parameter`; numbers are converted. */
export function isAssignable(type: ValueType, parameter: CelType): boolean {
  if (type.kind === "any" || (parameter.kind === "scalar" && parameter.scalar === "dyn"))
    return true;
  return getFamily(typeOfCel(parameter)) === getFamily(type);
}
