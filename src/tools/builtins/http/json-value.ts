import { DeepJsonFailure } from "./errors.ts";

/** Levels of lists and objects within each other that are taken; code that walks results calls itself for each. */
const maxDepth = 200;

/**
 * The value of JSON text, without keys `__proto__`, which become a prototype where others copy the value key by key. The
 * text itself where it is no JSON.
 * @throws DeepJsonFailure
 */
export function jsonValue(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  let level = isNested(value) ? [value] : [];
  // Level by level: a walk that called itself would fail where the value is too deep.
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > maxDepth) throw new DeepJsonFailure(maxDepth, text);
    const next: object[] = [];
    for (const one of level) {
      if (Object.hasOwn(one, "__proto__")) Reflect.deleteProperty(one, "__proto__");
      for (const inner of Object.values(one) as unknown[]) if (isNested(inner)) next.push(inner);
    }
    level = next;
  }
  return value;
}

function isNested(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
