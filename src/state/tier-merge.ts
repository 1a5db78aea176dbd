import { isDeepStrictEqual } from "node:util";
import { StratagraphError } from "../errors.ts";

/** How writes to one key of a tier are put together. */
export const mergeKinds = ["sum", "append", "last", "max"] as const;
export type MergeKind = (typeof mergeKinds)[number];

/** Merges by key of a tier, such as `execution.total`. */
export type TierMerges = Readonly<Record<string, MergeKind>>;

/** A tool or a node wrote a value that its key's merge cannot take. */
export class TierMergeError extends StratagraphError {
  readonly code = "tier_merge";
  override readonly kind = "run";

  constructor(
    readonly writer: { readonly type: "tool" | "node"; readonly name: string },
    /** Like `execution.total`. */
    readonly key: string,
    readonly merge: MergeKind,
    /** What came instead of what the merge takes. */
    readonly found: string,
  ) {
    const { type, name } = writer;
    super(
      `${type === "tool" ? "Tool" : "Node"} "${name}" wrote ${key}, whose merge is ${merge}: expected ${expected[merge]}, got ${found}. The state stays as it was.`,
    );
  }
}

const expected: Readonly<Record<MergeKind, string>> = {
  sum: "a number",
  max: "a number",
  append: "a list that begins with the elements already there",
  last: "a value",
};

/** Why the value of a key cannot follow `before`; null where it can. Absent values are undefined. */
export function mergeProblem(merge: MergeKind, before: unknown, after: unknown): string | null {
  if (merge === "last" || (before === undefined && after === undefined)) return null;
  if (after === undefined) return "no value";
  if (merge !== "append") {
    if (before !== undefined && typeof before !== "number")
      return `${kindOf(before)} already there`;
    return typeof after === "number" ? null : kindOf(after);
  }
  if (before !== undefined && !Array.isArray(before)) return `${kindOf(before)} already there`;
  if (!Array.isArray(after)) return kindOf(after);
  const there: readonly unknown[] = before ?? [];
  const extendsThere =
    there.length <= after.length &&
    there.every((item, index) => item === after[index] || isDeepStrictEqual(item, after[index]));
  return extendsThere ? null : "a list without some of them";
}

/** The value of a key when `given` is merged into `before`, or what is wrong with it. */
export function mergeValue(
  merge: MergeKind,
  before: unknown,
  given: unknown,
): { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly found: string } {
  const items: readonly unknown[] = Array.isArray(given) ? given : [given];
  const there: readonly unknown[] = Array.isArray(before) ? before : [];
  const problem = mergeProblem(merge, before, merge === "append" ? [...there, ...items] : given);
  if (problem !== null) return { ok: false, found: problem };
  switch (merge) {
    case "last":
      return { ok: true, value: given };
    case "append":
      return { ok: true, value: [...there, ...items] };
    case "sum":
      return { ok: true, value: sum(Number(before ?? 0), Number(given)) };
    case "max":
      return { ok: true, value: Math.max(Number(before ?? given), Number(given)) };
  }
}

/** What one of several nodes that ran at the same time did to a merged key. Plain JSON. */
export type KeyChange =
  | { readonly merge: "sum"; readonly from: number; readonly to: number }
  | { readonly merge: "max"; readonly to: number }
  | {
      readonly merge: "append";
      readonly items: readonly unknown[];
      /** Elements at the list's end that later branches gave; `items` go before them. */
      readonly later: number;
    };

/**
 * The change from `before` to `after`, whose {@link mergeProblem} is null.
 * @param later elements of the list that later branches gave
 */
export function keyChange(
  merge: Exclude<MergeKind, "last">,
  values: { readonly before: unknown; readonly after: unknown; readonly later: number },
): KeyChange {
  const { before, after, later } = values;
  if (merge === "sum") return { merge, from: Number(before ?? 0), to: Number(after) };
  if (merge === "max") return { merge, to: Number(after) };
  const there = Array.isArray(before) ? before.length : 0;
  return { merge, items: (after as readonly unknown[]).slice(there), later };
}

/** The value of a key after a change, on whatever other nodes have made of it meanwhile. */
export function applyChange(value: unknown, change: KeyChange): unknown {
  switch (change.merge) {
    case "sum": {
      const now = Number(value ?? 0);
      // The difference of two numbers may not lead from one to the other.
      return now === change.from ? change.to : sum(now, change.to - change.from);
    }
    case "max":
      return typeof value === "number" ? Math.max(value, change.to) : change.to;
    case "append": {
      const there: readonly unknown[] = Array.isArray(value) ? value : [];
      // Arguments of a call are limited, lists are not.
      const at = Math.max(0, there.length - change.later);
      return Object.freeze([...there.slice(0, at), ...change.items, ...there.slice(at)]);
    }
  }
}

/** A sum that stays a number of JSON. */
function sum(a: number, b: number): number {
  return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, a + b));
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "string") return "a text";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
