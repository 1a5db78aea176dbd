import { ToolFailure } from "../../tool-failure.ts";

/** Levels of nesting of data and results. */
const maxDepth = 200;

/** Counts what a query does, since JavaScript cannot interrupt it: a value visited, a character copied or compared. */
export class WorkMeter {
  #left: number;

  constructor(budget: number) {
    this.#left = budget;
  }

  /** @throws ToolFailure when there is more to do than was allowed */
  charge(units: number): void {
    this.#left -= units;
    // Written so that NaN is refused too.
    if (this.#left >= 0) return;
    throw new ToolFailure(
      "The query asks for too much work. Select less data before it is sorted, compared, or combined with itself.",
    );
  }
}

/**
 * Values in a tree and characters of its texts and keys, parts that it shares counted each time. Stops at `limit`, so
 * that it may be asked of values whose parts contain one another many times over.
 * @throws ToolFailure when it is nested too deeply
 */
export function sizeOf(value: unknown, limit: number): number {
  let size = 0;
  const add = (part: unknown, depth: number): void => {
    size += 1;
    if (typeof part === "string") size += part.length;
    if (size > limit || typeof part !== "object" || part === null) return;
    if (depth > maxDepth) {
      throw new ToolFailure(`The data is nested more than ${maxDepth} levels deep.`);
    }
    if (Array.isArray(part)) {
      for (const item of part) {
        if (size > limit) return;
        add(item, depth + 1);
      }
      return;
    }
    for (const [key, item] of Object.entries(part)) {
      if (size > limit) return;
      size += key.length;
      add(item, depth + 1);
    }
  };
  add(value, 1);
  return size;
}

/** Equality of JSON values, which is charged for what it compares. */
export function sameJson(a: unknown, b: unknown, meter: WorkMeter): boolean {
  meter.charge(1);
  if (typeof a === "string" && typeof b === "string") {
    if (a.length === b.length) meter.charge(a.length / 16);
    return a === b;
  }
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    return a.every((item, at) => sameJson(item, b[at], meter));
  }
  const [keysOfA, keysOfB] = [Object.keys(a), Object.keys(b)];
  meter.charge(keysOfA.length + keysOfB.length);
  if (keysOfA.length !== keysOfB.length) return false;
  return keysOfA.every(
    (key) => Object.hasOwn(b, key) && sameJson(Reflect.get(a, key), Reflect.get(b, key), meter),
  );
}
