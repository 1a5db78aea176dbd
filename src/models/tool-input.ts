import { readNamedArguments, readQuoted } from "./call-arguments.ts";

type Schema = Readonly<Record<string, unknown>>;

/**
 * Fits what a model wrote as a tool's input to the tool's schema, where it is no object: `query="python"` is taken
 * apart if the schema knows the names; else the whole becomes the schema's only property, or its only required one if
 * that is a string. A text in quotes loses them there, and becomes JSON where the property is no string. A tool
 * without properties gets `{}`. What fits nothing comes back as it was.
 */
export function toToolInput(input: unknown, inputSchema: Schema): unknown {
  if (typeof input === "object" && input !== null && !Array.isArray(input)) return input;
  const { properties } = inputSchema;
  const isBlank = input === null || input === undefined || input === "";
  if (!isSchema(properties)) return isBlank ? {} : input;
  const names = Object.keys(properties);
  if (names.length === 0) return {};
  const named = typeof input === "string" ? readNamedArguments(input, new Set(names)) : null;
  if (named !== null) return named;
  const target = onlyProperty(names, properties, inputSchema["required"]);
  if (target === null || isBlank) return isBlank ? {} : input;
  return { [target]: fitTo(properties[target], input) };
}

function onlyProperty(
  names: readonly string[],
  properties: Schema,
  required: unknown,
): string | null {
  if (names.length === 1) return names[0] ?? null;
  const needed = Array.isArray(required) ? names.filter((name) => required.includes(name)) : [];
  const strings = needed.filter((name) => takesText(properties[name]));
  return needed.length === 1 ? (strings[0] ?? null) : null;
}

function takesText(property: unknown): boolean {
  if (!isSchema(property)) return true;
  const { type } = property;
  return (
    type === undefined || type === "string" || (Array.isArray(type) && type.includes("string"))
  );
}

function fitTo(property: unknown, input: unknown): unknown {
  if (typeof input !== "string") return input;
  if (takesText(property)) return readQuoted(input) ?? input;
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
