import { isRecord } from "../../state/is-record.ts";
import { readNotation } from "./read-notation.ts";

/** A tool call that was made, with what came of it. */
export interface Outcome {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly text: string;
  /** `text` as JSON or in the context's notation, where it is an object, an array or a number. */
  readonly value: unknown;
  readonly failed: boolean;
}

export function outcome(made: Omit<Outcome, "value">): Outcome {
  // This model's own words, where it has done a subtask for another.
  const text = made.text.replace(/^\[offline:rules\] /, "");
  return { ...made, text, value: parsed(text) };
}

function parsed(text: string): unknown {
  // A preview names after the value what is not shown of it.
  const trimmed = text.replace(/\nalso in it: [^\n]*$/, "").trim();
  if (!/^([[{]|-?\d+(\.\d+)?$|"|true$|false$)/.test(trimmed)) return undefined;
  const value = readNotation(trimmed);
  return value === trimmed ? undefined : value;
}

/** The number that "it" stands for after a result: the result itself, or its only or leading number. */
export function numberOf({ value, text }: Outcome): string | null {
  if (typeof value === "number") return String(value);
  if (isRecord(value)) {
    const main = ["result", "value", "answer", "total", "sum", "count"].map((key) => value[key]);
    const numbers = [...main, ...Object.values(value)].filter((one) => typeof one === "number");
    return numbers.length > 0 ? String(numbers[0]) : null;
  }
  if (Array.isArray(value)) return String(value.length);
  const found = text.replace(/(\d),(?=\d{3}\b)/g, "$1").match(/-?\d+(?:\.\d+)?/g) ?? [];
  const last = found.at(-1);
  return last !== undefined && text.length <= 200 ? last : null;
}

/** The first value under a key, at any depth. Keys are compared without case, `_` and `-`. */
export function valueUnder(key: string, value: unknown): unknown {
  const wanted = plainKey(key);
  if (Array.isArray(value)) {
    for (const item of value) {
      const found = valueUnder(key, item);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  for (const [name, own] of Object.entries(value)) if (plainKey(name) === wanted) return own;
  for (const own of Object.values(value)) {
    const found = valueUnder(key, own);
    if (found !== undefined) return found;
  }
  return undefined;
}

function plainKey(key: string): string {
  return key.toLowerCase().replace(/[-_\s]/g, "");
}
