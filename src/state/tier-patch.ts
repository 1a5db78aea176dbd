import { isDeepStrictEqual, types } from "node:util";
import type { AgentState } from "./agent-state.ts";
import { isRecord } from "./is-record.ts";
import { applyChange, keyChange, type KeyChange, type TierMerges } from "./tier-merge.ts";

type AnyState = AgentState<unknown, unknown>;

const mark = "__tier_patch__";

/**
 * Some keys of a tier. Written to a tier's channel it changes those alone, so that parallel branches which write
 * different keys both land; anything else that is written replaces the tier. Writes are stored while a branch beside
 * waits for a person. LangGraph's serializer gives a set back as a set, and a tier has none: see `checkJson`. So no state
 * is taken for a patch, whatever its keys are.
 */
export interface TierPatch {
  readonly [mark]: ReadonlySet<never>;
  readonly set: Readonly<Record<string, unknown>>;
  readonly remove: readonly string[];
  /** What is done to merged keys, where other branches are under way; their keys are in neither of the two. */
  readonly merge?: Readonly<Record<string, KeyChange>>;
  /** Its place among the patches of one superstep. */
  readonly order?: Pick<MergeOrder, "superstep" | "path">;
}

/** What a node that runs beside others needs to know to change merged keys. */
export interface MergeOrder {
  readonly merges: TierMerges;
  readonly superstep: number;
  /** The place of its branch, as {@link comparePaths} orders them. */
  readonly path: readonly number[];
  /** How many elements of a list later branches gave; more than none where such a branch wrote the key. */
  later(key: string): number;
}

/** The definition's order of branches: by the targets of the fan-outs that they come from, outermost first. */
export function comparePaths(a: readonly number[], b: readonly number[]): number {
  for (const [index, place] of a.entries()) {
    const other = b[index];
    if (other === undefined) return 1;
    if (place !== other) return place - other;
  }
  return a.length - b.length;
}

/** What turns `before` into `after`, by their own keys; null when nothing does. */
export function tierPatch(before: unknown, after: unknown): TierPatch | null {
  if (before === after) return null;
  const old = isRecord(before) ? before : {};
  const now = isRecord(after) ? after : {};
  const set = Object.fromEntries(
    Object.entries(now).filter(
      // A copy of what was there is no change.
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

/** @param order where other branches are under way, and keys are merged */
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

/** The patch with what it does to merged keys instead of what it makes of them. */
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

/** The channel's reducer: the patched tier, or whatever else was written. */
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
 * The patches that made a tier in one superstep, with the tier they found. LangGraph applies the writes of a superstep
 * by the names of their nodes; what follows the order of branches is made again from all of them.
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
