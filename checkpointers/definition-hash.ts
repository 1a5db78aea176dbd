import { CorruptDefinitionError } from "./errors.ts";
import { sha256 } from "./sha256.ts";

/**
 * The hash under which a definition is kept: SHA-256 (hex) of its JSON with the keys of every object in order, whole
 * numbers among them first, as JavaScript has them. Compiling makes it the same way.
 */
export function definitionHash(definition: unknown): string {
  const text = JSON.stringify(definition, (_key, inner: unknown) => sorted(inner)) ?? "null";
  return sha256(text).toString("hex");
}

/**
 * The definition that is stored under a hash, where it has that hash.
 * @throws {CorruptDefinitionError}
 */
export function checkDefinition(hash: string, definition: unknown): unknown {
  if (definitionHash(definition) !== hash) throw new CorruptDefinitionError(hash);
  return definition;
}

function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const keys = Object.keys(value).toSorted();
  return Object.fromEntries(keys.map((key) => [key, (value as Record<string, unknown>)[key]]));
}
