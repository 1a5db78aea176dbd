import { isRecord } from "../state/is-record.ts";
import { namesApart } from "./names-apart.ts";

export interface TextChanges {
  /** Of names of properties. */
  readonly key: (key: string) => string;
  readonly text: (text: string) => unknown;
  /** Default: they stay. */
  readonly number?: (number: number) => unknown;
}

/**
 * A copy with each text changed; the same value, list or object where nothing in it changed. Properties whose names
 * become the same are kept apart, as `namesApart` has it.
 */
export function mapTexts(value: unknown, changes: TextChanges): unknown {
  if (typeof value === "string") return changes.text(value);
  if (typeof value === "number") return changes.number?.(value) ?? value;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => mapTexts(item, changes));
    return items.some((item, at) => !Object.is(item, value[at])) ? items : value;
  }
  if (!isRecord(value)) return value;
  const keys = Object.keys(value);
  const names = keys.map((key) => changes.key(key));
  const items = keys.map((key) => mapTexts(value[key], changes));
  const isSame = keys.every((key, at) => names[at] === key && Object.is(items[at], value[key]));
  if (isSame) return value;
  return Object.fromEntries(namesApart(keys, names).map((name, at) => [name, items[at]]));
}
