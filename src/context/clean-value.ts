import { isRecord } from "../state/is-record.ts";
import { cleanText } from "./clean-text.ts";

/** Levels that are looked at; what is deeper stays as it is. */
const maxDepth = 100;

/** {@link cleanText} for every text and key in a JSON value. The same value where all are clean. */
export function cleanValue<Value>(value: Value): Value {
  return cleaned(value, 0) as Value;
}

function cleaned(value: unknown, depth: number): unknown {
  if (typeof value === "string") return cleanText(value);
  if (depth > maxDepth) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => cleaned(item, depth + 1));
    return items.every((item, at) => item === value[at]) ? value : items;
  }
  if (!isRecord(value)) return value;
  const entries = Object.entries(value);
  const own = entries.map(([key, item]) => [cleanText(key), cleaned(item, depth + 1)] as const);
  const isClean = own.every(
    ([key, item], at) => key === entries[at]?.[0] && item === entries[at]?.[1],
  );
  return isClean ? value : Object.fromEntries(own);
}
