import type { DefinitionPath } from "./problems.ts";

/** What stands at a path of a plain value; undefined where the path leaves it. Own properties only. */
export function valueAt(value: unknown, path: DefinitionPath): unknown {
  let current = value;
  for (const part of path) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, part)) {
      return undefined;
    }
    current = (current as Record<string | number, unknown>)[part];
  }
  return current;
}
