import type { JsonSchema } from "./json-schema.ts";
import type { DefinitionPath } from "./problems.ts";

/** Characters of the JSON of a schema that is searched; each step of the search tries the whole of it. */
const maxSearched = 20_000;
const maxTries = 500;

/**
 * The path of the smallest part of a schema without which the rest is fit: the keyword at fault. The whole schema (an
 * empty path) when several parts are at fault, or when it is too large to search.
 */
export function unfitPart(
  schema: JsonSchema,
  isFit: (schema: JsonSchema) => boolean,
): DefinitionPath {
  const text = toJson(schema);
  if (text === undefined || text.length > maxSearched) return [];
  let tries = 0;
  const path: (string | number)[] = [];
  const at = (root: unknown) =>
    path.reduce((inner, part) => (inner as Record<string | number, unknown>)[part], root);
  const heals = (part: string) => {
    if ((tries += 1) > maxTries) return false;
    const copy = JSON.parse(text) as JsonSchema;
    const container = at(copy);
    if (Array.isArray(container)) container.splice(Number(part), 1);
    else delete (container as Record<string, unknown>)[part];
    return isFit(copy);
  };
  for (;;) {
    const container = at(schema);
    if (typeof container !== "object" || container === null) return path;
    const part = Object.keys(container).toSorted(typeLast).find(heals);
    if (part === undefined) return path;
    path.push(Array.isArray(container) ? Number(part) : part);
  }
}

/** Without its type, what a schema says of properties and items does not count: that heals too much. */
function typeLast(a: string, b: string): number {
  return Number(a === "type") - Number(b === "type");
}

function toJson(schema: JsonSchema): string | undefined {
  try {
    return JSON.stringify(schema);
  } catch {
    return undefined;
  }
}
