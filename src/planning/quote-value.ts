import { headOf } from "../state/cut-text.ts";

const maxQuoted = 80;

/** A value that is not what was expected, in a few words: never walked into, whatever it holds. */
export function quoteValue(value: unknown): string {
  if (value === undefined) return "nothing";
  if (value === null || typeof value === "number" || typeof value === "boolean")
    return String(value);
  if (typeof value === "string") {
    return JSON.stringify(value.length > maxQuoted ? `${headOf(value, maxQuoted)}…` : value);
  }
  if (typeof value === "object") return Array.isArray(value) ? "an array" : "an object";
  return `a ${typeof value}`;
}
