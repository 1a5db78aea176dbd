import { isDeepStrictEqual } from "node:util";
import { isRecord } from "./is-record.ts";

const mark = "__tier_patch__";

/**
 * Some keys of a tier. Written to a tier's channel it changes those alone, so that parallel branches which write
 * different keys both land; anything else that is written replaces the tier. Plain JSON, since writes are stored while
 * a branch beside waits for somebody.
 */
export interface TierPatch {
  readonly [mark]: {
    readonly set: Readonly<Record<string, unknown>>;
    readonly remove: readonly string[];
  };
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
  return Object.keys(set).length === 0 && remove.length === 0 ? null : { [mark]: { set, remove } };
}

/** The keys that a patch changes. */
export function patchedKeys(patch: TierPatch | undefined): readonly string[] {
  return patch === undefined ? [] : [...Object.keys(patch[mark].set), ...patch[mark].remove];
}

/** The channel's reducer: the patched tier, or whatever else was written. */
export function reduceTier(tier: unknown, update: unknown): unknown {
  if (!isTierPatch(update)) return update;
  const { set, remove } = update[mark];
  const next = { ...(isRecord(tier) ? tier : {}), ...set };
  for (const key of remove) delete next[key];
  return Object.freeze(next);
}

function isTierPatch(update: unknown): update is TierPatch {
  return isRecord(update) && Object.hasOwn(update, mark);
}
