import { createHash } from "node:crypto";

/** Whether a value is an object with keys: neither null nor a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value's JSON with the keys of every object in order, so that equal values have equal texts. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => sorted(inner)) ?? "null";
}

/** The SHA-256 of a value's canonical JSON, in 64 hexadecimal digits. */
export function canonicalHash(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}

function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value);
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Containers that are known to be frozen with all that they hold. */
const deeplyFrozen = new WeakSet<object>();

/**
 * Freezes plain objects and arrays in place, all the way down, and returns `value`. Other objects (dates, maps, class
 * instances) stay as they are, and so does what only they hold. What was deeply frozen before is not walked again, so
 * freezing a new state costs no more than what is new in it. Cycles are fine.
 */
export function deepFreeze<T>(value: T): T {
  const toFreeze: object[] = [];
  enqueue(value, toFreeze);
  for (let next = toFreeze.pop(); next !== undefined; next = toFreeze.pop()) {
    Object.freeze(next);
    const items: readonly unknown[] = Array.isArray(next) ? next : Object.values(next);
    for (const item of items) enqueue(item, toFreeze);
  }
  return value;
}

/** Marks a container before its contents are walked, so that a cycle ends at it. */
function enqueue(value: unknown, toFreeze: object[]): void {
  if (!isPlainContainer(value) || deeplyFrozen.has(value)) return;
  deeplyFrozen.add(value);
  toFreeze.push(value);
}

function isPlainContainer(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
