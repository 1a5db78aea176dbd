import {
  checkFromJsonSchema,
  type JsonSchema,
  type SchemaCheck,
} from "../../definition/schema/json-schema.ts";
import { isRecord } from "../../values/json.ts";
import type { LinePrompt } from "../io.ts";
import { plainLine, shortLines, type Style } from "../view/terminal.ts";
import { parsed } from "./given-answers.ts";

/** One property of an object that a person fills in. */
export interface FormField {
  readonly name: string;
  readonly schema: JsonSchema;
  readonly isRequired: boolean;
}

export interface FieldOptions {
  readonly prompt: LinePrompt;
  readonly print: (lines: readonly string[]) => void;
  readonly width: number;
  readonly style: Style;
  /** Aborting it abandons the form. */
  readonly signal: AbortSignal;
}

/** More fields are easier to write as one JSON object. */
const maxFields = 20;

/**
 * Returns the fields of an object schema whose properties are texts, numbers, booleans, choices or lists of these; null
 * for any other schema, whose values are written as JSON.
 */
export function formFields(schema: unknown): readonly FormField[] | null {
  if (!isRecord(schema) || schema["type"] !== "object" || !isRecord(schema["properties"])) {
    return null;
  }
  const required: readonly unknown[] = Array.isArray(schema["required"]) ? schema["required"] : [];
  const entries = Object.entries(schema["properties"]);
  if (entries.length === 0 || entries.length > maxFields) return null;
  const fields = entries.flatMap(([name, property]) =>
    isSimple(property) ? [{ name, schema: property, isRequired: required.includes(name) }] : [],
  );
  return fields.length === entries.length ? fields : null;
}

function isSimple(schema: unknown): schema is JsonSchema {
  if (!isRecord(schema)) return false;
  if (schema["enum"] !== undefined) return choicesOf(schema) !== null;
  return (
    isScalar(schema["type"]) || (schema["type"] === "array" && isScalarSchema(schema["items"]))
  );
}

function isScalarSchema(schema: unknown): schema is JsonSchema {
  return isRecord(schema) && schema["enum"] === undefined && isScalar(schema["type"]);
}

function isScalar(type: unknown): boolean {
  return type === "string" || type === "number" || type === "integer" || type === "boolean";
}

type Scalar = string | number | boolean;

/** Returns the values of an `enum`; null without one, or if a value is null, a list or an object. */
function choicesOf(schema: JsonSchema): readonly Scalar[] | null {
  const { enum: values } = schema as { readonly enum?: unknown };
  if (!Array.isArray(values) || values.length === 0) return null;
  return values.every((value): value is Scalar => isScalar(typeof value)) ? values : null;
}

/**
 * Asks for the fields one by one, each until its value fits its schema. An empty line leaves an optional field out. A JSON
 * object, typed for the first field, stands for all of them.
 *
 * @param before values to begin with; a schema's `default` otherwise
 * @returns null if the person leaves
 */
export async function askFields(
  fields: readonly FormField[],
  before: Readonly<Record<string, unknown>>,
  options: FieldOptions,
): Promise<Readonly<Record<string, unknown>> | null> {
  const values: Record<string, unknown> = {};
  for (const [index, field] of fields.entries()) {
    const { name, schema } = field;
    const known = Object.hasOwn(before, name) ? before[name] : schema["default"];
    const answer = await askField(field, { known, takesObject: index === 0 }, options);
    if (answer === null) return null;
    if ("object" in answer) return answer.object;
    if ("value" in answer) values[name] = answer.value;
  }
  return values;
}

type FieldAnswer =
  | { readonly value: unknown }
  | { readonly object: Readonly<Record<string, unknown>> }
  | { readonly isLeftOut: true };

async function askField(
  { name, schema, isRequired }: FormField,
  of: { readonly known: unknown; readonly takesObject: boolean },
  { prompt, print, width, style, signal }: FieldOptions,
): Promise<FieldAnswer | null> {
  const choices = choicesOf(schema);
  const { description } = schema;
  if (typeof description === "string") {
    print(
      shortLines(description, Math.min(width, 160) - 4, 3).map((line) => style.dim(`    ${line}`)),
    );
  }
  if (choices !== null) {
    print(
      choices.map((one, index) => `    ${style.dim(`${index + 1}`)} ${plainLine(String(one))}`),
    );
  }
  const label = `${plainLine(name)} ${style.dim(`(${formOf(schema)}${isRequired ? "" : ", optional"})`)}`;
  let shown = of.known === undefined ? "" : editedText(of.known);
  for (;;) {
    const line = await prompt.line(`  ${label} ${style.bold("›")} `, { signal, prefilled: shown });
    if (line === null) return null;
    const typed = line.trim();
    if (typed === "" && !isRequired) return { isLeftOut: true };
    if (of.takesObject && typed.startsWith("{")) {
      const object = parsed(typed)?.value;
      if (isRecord(object)) return { object };
    }
    const value = typed === "" ? undefined : readField(typed, schema);
    const problem =
      value === undefined ? `Expected ${formOf(schema)}.` : fieldProblem(value, schema);
    if (problem === null) return { value };
    print([style.yellow(`  ${plainLine(problem)}`)]);
    shown = line;
  }
}

/** Returns how a field is filled in, such as `number` or `y/n`. */
function formOf(schema: JsonSchema): string {
  const choices = choicesOf(schema);
  if (choices !== null) return `1 to ${choices.length}`;
  switch (schema["type"]) {
    case "boolean":
      return "y/n";
    case "integer":
      return "whole number";
    case "number":
      return "number";
    case "array":
      return "comma-separated list";
    default:
      return "text";
  }
}

function editedText(value: unknown): string {
  if (Array.isArray(value) && value.every((one) => !/[,"]/.test(String(one))))
    return value.join(", ");
  return plainLine(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
}

/** Returns undefined if the text has none of the field's forms. */
function readField(typed: string, schema: JsonSchema): unknown {
  const choices = choicesOf(schema);
  if (choices !== null) {
    const named = choices.find((one) => String(one) === typed);
    return named ?? (/^\d+$/.test(typed) ? choices[Number(typed) - 1] : undefined);
  }
  if (schema["type"] !== "array") return readScalar(typed, schema["type"]);
  const list = typed.startsWith("[") ? parsed(typed)?.value : undefined;
  if (Array.isArray(list)) return list;
  const { type } = schema["items"] as JsonSchema;
  const items = typed.split(",").map((item) => readScalar(item.trim(), type));
  return items.includes(undefined) ? undefined : items;
}

function readScalar(typed: string, type: unknown): Scalar | undefined {
  if (type === "boolean") {
    if (/^(?:y|yes|true)$/i.test(typed)) return true;
    return /^(?:n|no|false)$/i.test(typed) ? false : undefined;
  }
  if (type !== "number" && type !== "integer") return typed;
  const number = Number(typed);
  return typed !== "" && Number.isFinite(number) ? number : undefined;
}

/** Returns null for a schema that cannot be checked by itself: the whole value is checked afterwards. */
function fieldProblem(value: unknown, schema: JsonSchema): string | null {
  let check: SchemaCheck;
  try {
    check = checkFromJsonSchema(schema);
  } catch {
    return null;
  }
  const checked = check.check(value);
  return checked.ok
    ? null
    : `${checked.issues.map((issue) => issue.replace(/^value: /, "")).join("; ")}.`;
}
