import { isDeepStrictEqual, types } from "node:util";
import type { AgentState } from "./agent-state.ts";
import { isRecord } from "./is-record.ts";

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

export function tierPatches(before: AnyState, after: AnyState): TierPatches {
  const execution = tierPatch(before.execution, after.execution);
  const attempt = tierPatch(before.attempt, after.attempt);
  return { ...(execution && { execution }), ...(attempt && { attempt }) };
}

/** The keys that a patch changes. */
export function patchedKeys(patch: TierPatch | undefined): readonly string[] {
  return patch === undefined ? [] : [...Object.keys(patch.set), ...patch.remove];
}

/** The channel's reducer: the patched tier, or whatever else was written. */
export function reduceTier(tier: unknown, update: unknown): unknown {
  if (!isTierPatch(update)) return update;
  const { set, remove } = update;
  const next = { ...(isRecord(tier) ? tier : {}), ...set };
  for (const key of remove) delete next[key];
  return Object.freeze(next);
}

function isTierPatch(update: unknown): update is TierPatch {
  return isRecord(update) && Object.hasOwn(update, mark) && types.isSet(update[mark]);
}
