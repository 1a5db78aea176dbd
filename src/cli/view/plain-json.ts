import { plain } from "../../state/value-words.ts";

/** A value of a channel as JSON that people can read: messages as their fields, maps and sets as lists. */
export function plainJson(value: unknown, indent = 2): string {
  // By the key, since what comes as the value has gone through its own `toJSON` already.
  const replace = function (this: unknown, key: string): unknown {
    const inner = plain((this as Record<string, unknown>)[key]);
    return typeof inner === "bigint" ? String(inner) : inner;
  };
  return JSON.stringify(value, replace, indent) ?? "null";
}

/** The same as data, for a document of JSON. */
export function plainData(value: unknown): unknown {
  return JSON.parse(plainJson(value, 0)) as unknown;
}
