import type { JsonSchema } from "../../api/document.ts";

/** Schemas by the names that references have. */
export type Definitions = Readonly<Record<string, JsonSchema>>;

/** References that are followed one after the other. */
const maxReferences = 10;

/** Follows the references of a schema to its definition. */
export function resolve(schema: JsonSchema, definitions: Definitions): JsonSchema {
  let found = schema;
  for (let count = 0; found.$ref !== undefined && count < maxReferences; count++) {
    const name = found.$ref.replace(/^#\/(?:components\/schemas|\$defs)\//, "");
    const { $ref: _ref, ...own } = found;
    found = { ...(Object.hasOwn(definitions, name) ? definitions[name] : {}), ...own };
  }
  return found;
}

/** A type as a reader sees it, as in `array of string`, `"fast" | "deep"` or `integer 1–200`. */
export function typeText(schema: JsonSchema, definitions: Definitions, depth = 0): string {
  const resolved = resolve(schema, definitions);
  const { type, items, minimum, maximum, format } = resolved;
  if (resolved.const !== undefined) return JSON.stringify(resolved.const);
  if (resolved.enum !== undefined)
    return resolved.enum.map((one) => JSON.stringify(one)).join(" | ");
  const alternatives = resolved.oneOf ?? resolved.anyOf;
  if (alternatives !== undefined && depth < 3) {
    const all = alternatives.map((one) => typeText(one, definitions, depth + 1));
    return [...new Set(all)].join(" | ");
  }
  if (type === "array" && typeof items === "object" && depth < 3)
    return `array of ${typeText(items, definitions, depth + 1)}`;
  const bounds = isRange(minimum, maximum) ? ` ${minimum ?? ""}–${maximum ?? ""}` : "";
  const name = Array.isArray(type) ? type.join(" | ") : (type ?? "any");
  return `${String(name)}${format === undefined ? "" : ` (${format})`}${bounds}`;
}

function isRange(minimum: number | undefined, maximum: number | undefined): boolean {
  const isBound = (one: number | undefined) => one !== undefined && Math.abs(one) < 2 ** 53 - 1;
  return isBound(minimum) && isBound(maximum);
}
