import { tryCompile } from "../../definition/check-definition.ts";
import type { JsonSchema, JsonSchemaCheck, SchemaCheck } from "../../definition/json-schema.ts";
import { cutText } from "../../state/cut-text.ts";
import { isRecord } from "../../state/is-record.ts";

/** Levels of a schema; deeper ones are for nobody to read. */
const maxDepth = 100;

export interface CheckedSchema {
  readonly check: SchemaCheck;
  /** Why less is checked than the schema says. */
  readonly problem?: string;
}

/** The check of a tool's arguments, with the server's schema as it is; or why the tool cannot be shown to a model. */
export function inputCheck(schema: unknown): CheckedSchema | { readonly refused: string } {
  if (!isRecord(schema)) return { refused: "its inputSchema is no JSON Schema" };
  if (isDeeper(schema, maxDepth)) {
    return { refused: `its inputSchema is nested more than ${maxDepth} levels deep` };
  }
  const ofObject: JsonSchema = schema["type"] === "object" ? schema : { ...schema, type: "object" };
  const compiled = tryCompile(ofObject);
  if ("check" in compiled) {
    return { check: compiled.check, ...unmatchedProblem("inputSchema", compiled.check) };
  }
  return {
    check: objectCheck(ofObject),
    problem: `of its arguments, only the names of those that are required are checked (${compiled.problem})`,
  };
}

/** The check of what a call gives; texts, which a tool may give in place of what its schema says, are taken as they are. */
export function outputCheck(schema: unknown): CheckedSchema | { readonly problem: string } {
  if (!isRecord(schema) || isDeeper(schema, maxDepth)) {
    return { problem: "its results are not checked: its outputSchema is no JSON Schema" };
  }
  const compiled = tryCompile(schema);
  if (!("check" in compiled)) {
    return { problem: `its results are not checked (${compiled.problem})` };
  }
  const { check } = compiled;
  return {
    check: {
      jsonSchema: schema,
      check: (value) => (isRecord(value) ? check.check(value) : { ok: true, value }),
    },
    ...unmatchedProblem("outputSchema", check),
  };
}

/** Most patterns that a warning names. */
const mostNamed = 3;

/** A server's patterns that backtracking alone could match are left out, and the rest of its schema is checked. */
function unmatchedProblem(key: string, { unmatched }: JsonSchemaCheck): { problem?: string } {
  if (unmatched.length === 0) return {};
  const named = unmatched.slice(0, mostNamed).map((one) => cutText(one, 300));
  const others = unmatched.length > mostNamed ? `; and ${unmatched.length - mostNamed} more` : "";
  return { problem: `of its ${key}, patterns are not checked (${named.join("; ")}${others})` };
}

/** Checks that the value is an object with what the schema requires at its top. */
function objectCheck(jsonSchema: JsonSchema): SchemaCheck {
  const { required } = jsonSchema;
  const names = Array.isArray(required)
    ? required.filter((name): name is string => typeof name === "string")
    : [];
  return {
    jsonSchema,
    check(value) {
      if (!isRecord(value)) return { ok: false, issues: ["value: expected an object"] };
      const missing = names.filter((name) => !Object.hasOwn(value, name));
      if (missing.length === 0) return { ok: true, value };
      return { ok: false, issues: missing.map((name) => `${name}: missing`) };
    },
  };
}

function isDeeper(value: unknown, limit: number): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; depth <= limit; depth += 1) {
    level = level.flatMap((one) =>
      typeof one === "object" && one !== null
        ? Object.values(one).filter((child) => typeof child === "object" && child !== null)
        : [],
    );
    if (level.length === 0) return false;
  }
  return true;
}
