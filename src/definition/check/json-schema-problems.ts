import { errorMessage } from "../../errors.ts";
import { linearPattern } from "../../expression/pattern.ts";
import { checkFromJsonSchema, type JsonSchema } from "../schema/json-schema.ts";
import { nearestName } from "../../nearest-name.ts";
import { showFound, type DefinitionPath, type DefinitionProblem } from "./problems.ts";

/** The type of a keyword's value. */
type Kind =
  | "schema"
  | "schemas"
  | "schema_or_schemas"
  | "named_schemas"
  | "type"
  | "text"
  | "texts"
  | "pattern"
  | "reference"
  | "number"
  | "count"
  | "flag"
  | "scalar"
  | "scalars"
  | "any";

/** The supported keywords, including pure annotations. */
const keywords: Readonly<Record<string, Kind>> = {
  $schema: "text",
  $id: "text",
  $comment: "text",
  $anchor: "text",
  $ref: "reference",
  $defs: "named_schemas",
  definitions: "named_schemas",
  title: "text",
  description: "text",
  default: "any",
  examples: "any",
  example: "any",
  deprecated: "flag",
  readOnly: "flag",
  writeOnly: "flag",
  contentEncoding: "text",
  contentMediaType: "text",
  type: "type",
  enum: "scalars",
  const: "scalar",
  allOf: "schemas",
  anyOf: "schemas",
  oneOf: "schemas",
  properties: "named_schemas",
  patternProperties: "named_schemas",
  additionalProperties: "schema",
  propertyNames: "schema",
  required: "texts",
  minProperties: "count",
  maxProperties: "count",
  items: "schema_or_schemas",
  prefixItems: "schemas",
  additionalItems: "schema",
  contains: "schema",
  minContains: "count",
  maxContains: "count",
  minItems: "count",
  maxItems: "count",
  uniqueItems: "flag",
  minLength: "count",
  maxLength: "count",
  pattern: "pattern",
  format: "text",
  minimum: "number",
  maximum: "number",
  exclusiveMinimum: "number",
  exclusiveMaximum: "number",
  multipleOf: "number",
};

/** Standard keywords that are not supported, each with its alternative. */
const unchecked: ReadonlyMap<string, string> = new Map([
  ["not", "say what is allowed"],
  ...["if", "then", "else", "dependencies", "dependentRequired", "dependentSchemas"].map(
    (key) => [key, "use anyOf"] as const,
  ),
  ["unevaluatedItems", "use items"],
  ["unevaluatedProperties", "use additionalProperties"],
  ["$dynamicRef", "use $ref"],
  ["$dynamicAnchor", "use $defs"],
  ["nullable", 'use type: [..., "null"]'],
]);

/** The `type` that a keyword applies to. */
const typeOf: Readonly<Record<string, string>> = {
  ...named("object", "properties patternProperties additionalProperties propertyNames required"),
  ...named("object", "minProperties maxProperties"),
  ...named("array", "items prefixItems additionalItems contains minItems maxItems uniqueItems"),
  ...named("string", "minLength maxLength pattern"),
  ...named("number", "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf"),
};

const types = ["object", "array", "string", "number", "integer", "boolean", "null"];

interface SchemaDocument {
  readonly root: JsonSchema;
  /** Whether zod matches the patterns: the schema was derived from a zod schema, whose regular expressions are code. */
  readonly hasOwnPatterns: boolean;
}

/**
 * Returns the problems of a JSON Schema, including keywords that would be ignored. Recursive: callers must limit the
 * depth first.
 *
 * @param path the path of the schema in the definition
 */
export function jsonSchemaProblems(
  schema: JsonSchema,
  path: DefinitionPath,
  { hasOwnPatterns = false }: Partial<Pick<SchemaDocument, "hasOwnPatterns">> = {},
): readonly DefinitionProblem[] {
  const problems = schemaProblems(schema, path, { root: schema, hasOwnPatterns });
  if (problems.length > 0) return problems;
  try {
    checkFromJsonSchema(schema);
    return [];
  } catch (thrown) {
    return [{ path, message: `not a JSON Schema that can be checked: ${errorMessage(thrown)}` }];
  }
}

function schemaProblems(
  schema: unknown,
  path: DefinitionPath,
  document: SchemaDocument,
): DefinitionProblem[] {
  if (typeof schema === "boolean") return [];
  if (!isMap(schema)) return [wrong(path, "expected a JSON Schema", schema)];
  return [
    ...Object.entries(schema).flatMap(([key, value]) =>
      value === undefined ? [] : keywordProblems(key, value, [...path, key], document),
    ),
    ...ignoredProblems(schema, path),
  ];
}

function keywordProblems(
  key: string,
  value: unknown,
  path: DefinitionPath,
  document: SchemaDocument,
): DefinitionProblem[] {
  const kind = Object.hasOwn(keywords, key) ? keywords[key] : undefined;
  if (kind !== undefined) return valueProblems(kind, value, path, document);
  if (key.startsWith("x-")) return [];
  if (key === "not" && isMap(value) && Object.keys(value).length === 0) return [];
  const instead = unchecked.get(key);
  if (instead !== undefined) return [{ path, message: `this keyword is not checked: ${instead}` }];
  const suggestion = nearestName(key, Object.keys(keywords));
  return [{ path, message: "no keyword of JSON Schema", suggestion }];
}

function valueProblems(
  kind: Kind,
  value: unknown,
  path: DefinitionPath,
  document: SchemaDocument,
): DefinitionProblem[] {
  switch (kind) {
    case "schema":
      return schemaProblems(value, path, document);
    case "schema_or_schemas":
      return valueProblems(Array.isArray(value) ? "schemas" : "schema", value, path, document);
    case "schemas":
      if (!Array.isArray(value) || value.length === 0) {
        return [wrong(path, "expected a list of JSON Schemas", value)];
      }
      return value.flatMap((one: unknown, index) =>
        schemaProblems(one, [...path, index], document),
      );
    case "named_schemas":
      if (!isMap(value)) return [wrong(path, "expected a map of JSON Schemas", value)];
      return Object.entries(value).flatMap(([name, one]) => [
        ...(path.at(-1) === "patternProperties"
          ? patternProblems(name, [...path, name], document)
          : []),
        ...schemaProblems(one, [...path, name], document),
      ]);
    case "type":
      return typeProblems(value, path);
    case "pattern":
      return patternProblems(value, path, document);
    case "reference":
      return referenceProblems(value, path, document);
    case "texts":
      return isListOf(value, (one) => typeof one === "string")
        ? []
        : [wrong(path, "expected a list of texts", value)];
    case "scalars":
      return isListOf(value, isScalar) && (value as unknown[]).length > 0
        ? []
        : [wrong(path, "expected a list of texts, numbers, true, false or null", value)];
    case "scalar":
      return isScalar(value)
        ? []
        : [wrong(path, "expected a text, a number, true, false or null", value)];
    case "text":
      return typeof value === "string" ? [] : [wrong(path, "expected a text", value)];
    case "number":
      return typeof value === "number" ? [] : [wrong(path, "expected a number", value)];
    case "count":
      return Number.isInteger(value) && (value as number) >= 0
        ? []
        : [wrong(path, "expected a whole number of at least 0", value)];
    case "flag":
      return typeof value === "boolean" ? [] : [wrong(path, "expected true or false", value)];
    case "any":
      return [];
  }
}

function typeProblems(value: unknown, path: DefinitionPath): DefinitionProblem[] {
  const list = Array.isArray(value) ? (value as unknown[]) : [value];
  if (list.length === 0) return [wrong(path, "expected a type", value)];
  return list.flatMap((one, index) =>
    typeof one === "string" && types.includes(one)
      ? []
      : [
          {
            ...wrong(Array.isArray(value) ? [...path, index] : path, "not one of the types", one),
            allowed: types,
            suggestion: typeof one === "string" ? nearestName(one, types) : undefined,
          },
        ],
  );
}

function patternProblems(
  value: unknown,
  path: DefinitionPath,
  { hasOwnPatterns }: SchemaDocument,
): DefinitionProblem[] {
  if (typeof value !== "string") return [wrong(path, "expected a regular expression", value)];
  if (hasOwnPatterns) return [];
  const compiled = linearPattern(value);
  return compiled.ok ? [] : [{ path, message: compiled.problem }];
}

function referenceProblems(
  value: unknown,
  path: DefinitionPath,
  document: SchemaDocument,
): DefinitionProblem[] {
  if (value === "#") return [];
  const { root } = document;
  const key = String(root["$schema"]).includes("draft-07") ? "definitions" : "$defs";
  const defs = isMap(root[key]) ? Object.keys(root[key]) : [];
  const allowed = ["#", ...defs.map((name) => `#/${key}/${escapePointer(name)}`)];
  if (typeof value === "string" && allowed.includes(value)) return [];
  const suggestion = typeof value === "string" ? nearestName(value, allowed) : undefined;
  return [
    {
      ...wrong(path, `expected a reference to one of the schema's own ${key}`, value),
      allowed,
      suggestion,
    },
  ];
}

function escapePointer(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Reports keywords without effect: next to `$ref`, or without the type that they apply to. */
function ignoredProblems(schema: JsonSchema, path: DefinitionPath): DefinitionProblem[] {
  const written = Object.keys(schema).filter((key) => schema[key] !== undefined);
  const typed = written.filter((key) => Object.hasOwn(typeOf, key));
  if (schema["$ref"] !== undefined) {
    return typed.map((key) => ({
      path: [...path, key],
      message: "not checked next to $ref: put both into allOf",
    }));
  }
  if (["type", "enum", "const"].some((key) => schema[key] !== undefined)) return [];
  return typed.map((key) => ({
    path: [...path, key],
    message: `not checked without a type: add type: ${typeOf[key]}`,
  }));
}

function named(type: string, keys: string): Record<string, string> {
  return Object.fromEntries(keys.split(" ").map((key) => [key, type]));
}

function isMap(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isListOf(value: unknown, test: (one: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(test);
}

function isScalar(value: unknown): boolean {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}

function wrong(path: DefinitionPath, message: string, value: unknown): DefinitionProblem {
  return { path, message, found: showFound(value) };
}
