import { isDeepStrictEqual, types } from "node:util";
import { StratagraphError } from "../errors.ts";
import { isRecord } from "../values/json.ts";
import type { AgentState } from "./tiers.ts";

type AnyState = AgentState<unknown, unknown>;

const mark = "__tier_patch__";

/**
 * A change of some keys of a tier. It leaves other keys alone, so that parallel branches which write different keys do
 * not overwrite each other. Any other written value replaces the tier. Writes are stored while a parallel branch waits
 * for a person. LangGraph's serializer restores a set as a set, which a tier cannot contain: see `checkJson`. A state
 * is therefore never mistaken for a patch.
 */
export interface TierPatch {
  readonly [mark]: ReadonlySet<never>;
  readonly set: Readonly<Record<string, unknown>>;
  readonly remove: readonly string[];
  /** Changes of merged keys while other branches run; these keys are in neither of the other two fields. */
  readonly merge?: Readonly<Record<string, KeyChange>>;
  /** Its position among the patches of one superstep. */
  readonly order?: Pick<MergeOrder, "superstep" | "path">;
}

/** The branch order that a node in parallel branches needs to change merged keys. */
export interface MergeOrder {
  readonly merges: TierMerges;
  readonly superstep: number;
  /** The position of its branch, as {@link comparePaths} orders them. */
  readonly path: readonly number[];
  /** Returns how many list elements later branches added; more than 0 if such a branch wrote the key. */
  later(key: string): number;
}

/** Compares branches by the definition's order: by the targets of their fan-outs, outermost first. */
export function comparePaths(a: readonly number[], b: readonly number[]): number {
  for (const [index, place] of a.entries()) {
    const other = b[index];
    if (other === undefined) return 1;
    if (place !== other) return place - other;
  }
  return a.length - b.length;
}

/** Returns the patch that turns `before` into `after`, by their own keys; null if they are equal. */
export function tierPatch(before: unknown, after: unknown): TierPatch | null {
  if (before === after) return null;
  const old = isRecord(before) ? before : {};
  const now = isRecord(after) ? after : {};
  const set = Object.fromEntries(
    Object.entries(now).filter(
      // A copy of the old value is no change.
      ([key, value]) => !(Object.hasOwn(old, key) && isDeepStrictEqual(old[key], value)),
    ),
  );
  const remove = Object.keys(old).filter((key) => !Object.hasOwn(now, key));
  return Object.keys(set).length === 0 && remove.length === 0
    ? null
    : { [mark]: new Set(), set, remove };
}

/** Patches of the tiers that changed. */
export interface TierPatches {
  readonly execution?: TierPatch;
  readonly attempt?: TierPatch;
}

/** @param order set if other branches run, and keys are merged */
export function tierPatches(before: AnyState, after: AnyState, order?: MergeOrder): TierPatches {
  const patchOf = (tier: keyof AnyState) => {
    const patch = tierPatch(before[tier], after[tier]);
    if (patch === null || order === undefined) return patch;
    return merging(patch, { tier, before: before[tier], order });
  };
  const execution = patchOf("execution");
  const attempt = patchOf("attempt");
  return { ...(execution && { execution }), ...(attempt && { attempt }) };
}

/** Replaces the new values of merged keys in a patch by their changes. */
function merging(
  { set, remove, ...patch }: TierPatch,
  of: { readonly tier: keyof AnyState; readonly before: unknown; readonly order: MergeOrder },
): TierPatch {
  const { tier, order } = of;
  const before = isRecord(of.before) ? of.before : {};
  const mergeOf = (key: string) => order.merges[`${tier}.${key}`];
  const later = (key: string) => order.later(`${tier}.${key}`);
  const isReplaced = (key: string) => mergeOf(key) === "last" && later(key) > 0;
  const merge: Record<string, KeyChange> = {};
  const kept: Record<string, unknown> = {};
  for (const [key, after] of Object.entries(set)) {
    const kind = mergeOf(key);
    if (kind !== undefined && kind !== "last") {
      merge[key] = keyChange(kind, { before: before[key], after, later: later(key) });
    } else if (!isReplaced(key)) {
      Object.defineProperty(kept, key, { value: after, enumerable: true, writable: true });
    }
  }
  const { superstep, path } = order;
  return {
    ...patch,
    set: kept,
    remove: remove.filter((key) => !isReplaced(key)),
    merge,
    order: { superstep, path },
  };
}

/** The channel's reducer. Returns the patched tier, or the value that replaces it. */
export function reduceTier(tier: unknown, update: unknown): unknown {
  if (!isTierPatch(update)) return update;
  const { order } = update;
  if (order === undefined) return applyPatch(tier, update);
  const known = isRecord(tier) ? gathered.get(tier) : undefined;
  const isStale = known !== undefined && known.superstep !== order.superstep;
  if (isStale) gathered.delete(tier as object);
  const { base, patches } = known === undefined || isStale ? { base: tier, patches: [] } : known;
  const all = [...patches, update].toSorted((a, b) =>
    comparePaths(a.order?.path ?? [], b.order?.path ?? []),
  );
  const next = all.reduce<unknown>(applyPatch, base) as object;
  gathered.set(next, { base, patches: all, superstep: order.superstep });
  return next;
}

/**
 * The patches that made a tier in one superstep, with the tier before them. LangGraph applies the writes of a superstep
 * in the order of node names; values that depend on the order of branches are recomputed from all patches.
 */
const gathered = new WeakMap<
  object,
  { readonly superstep: number; readonly base: unknown; readonly patches: readonly TierPatch[] }
>();

function applyPatch(tier: unknown, { set, remove, merge = {} }: TierPatch): unknown {
  const next: Record<string, unknown> = { ...(isRecord(tier) ? tier : {}), ...set };
  for (const key of remove) delete next[key];
  for (const [key, change] of Object.entries(merge)) next[key] = applyChange(next[key], change);
  return Object.freeze(next);
}

function isTierPatch(update: unknown): update is TierPatch {
  return isRecord(update) && Object.hasOwn(update, mark) && types.isSet(update[mark]);
}

/** How concurrent writes to one key of a tier are merged. */
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
    /** Such as `execution.total`. */
    readonly key: string,
    readonly merge: MergeKind,
    /** The value that the merge does not accept. */
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

/** Returns why a value cannot follow `before`; null if it can. Absent values are undefined. */
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

/** Returns the value of a key after merging `given` into `before`, or why that is not possible. */
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

/** The change of a merged key by one of several concurrent nodes. Plain JSON. */
type KeyChange =
  | { readonly merge: "sum"; readonly from: number; readonly to: number }
  | { readonly merge: "max"; readonly to: number }
  | {
      readonly merge: "append";
      readonly items: readonly unknown[];
      /** Number of elements that later branches appended; `items` go before them. */
      readonly later: number;
    };

/**
 * Returns the change from `before` to `after`, for which {@link mergeProblem} is null.
 *
 * @param later number of list elements that later branches appended
 */
function keyChange(
  merge: Exclude<MergeKind, "last">,
  values: { readonly before: unknown; readonly after: unknown; readonly later: number },
): KeyChange {
  const { before, after, later } = values;
  if (merge === "sum") return { merge, from: Number(before ?? 0), to: Number(after) };
  if (merge === "max") return { merge, to: Number(after) };
  const there = Array.isArray(before) ? before.length : 0;
  return { merge, items: (after as readonly unknown[]).slice(there), later };
}

/** Applies a change to the current value of a key, which other nodes may have changed. */
export function applyChange(value: unknown, change: KeyChange): unknown {
  switch (change.merge) {
    case "sum": {
      const now = Number(value ?? 0);
      // Adding the difference of two floats may not yield the second one.
      return now === change.from ? change.to : sum(now, change.to - change.from);
    }
    case "max":
      return typeof value === "number" ? Math.max(value, change.to) : change.to;
    case "append": {
      const there: readonly unknown[] = Array.isArray(value) ? value : [];
      // The number of call arguments is limited, the length of lists is not.
      const at = Math.max(0, there.length - change.later);
      return Object.freeze([...there.slice(0, at), ...change.items, ...there.slice(at)]);
    }
  }
}

/** Adds numbers; the result stays a finite JSON number. */
function sum(a: number, b: number): number {
  return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, a + b));
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "string") return "a text";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
