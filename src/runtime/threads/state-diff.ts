import { diffValues, type ValueChange } from "../../state/value-diff.ts";

/** Differences of a channel that are shown. */
export const maxChanges = 50;

/** How a channel differs between two states. */
export interface ChannelDiff {
  readonly channel: string;
  readonly kind: "added" | "removed" | "changed";
  /** In the order of the value; the first {@link maxChanges} of them. */
  readonly changes: readonly ValueChange[];
  /** Further differences that are left out. */
  readonly omitted: number;
}

type Values = Readonly<Record<string, unknown>>;

/**
 * How the state `after` differs from the state `before`, channel by channel. Equal states have no difference, and every
 * channel that differs is named; what is said of one is bounded, whatever it holds.
 */
export function diffStates(before: Values, after: Values): readonly ChannelDiff[] {
  const channels = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...channels].flatMap((channel) => {
    const [was, is] = [valueOf(before, channel), valueOf(after, channel)];
    const kind = was === undefined ? "added" : is === undefined ? "removed" : "changed";
    const from = was === undefined ? emptyLike(is) : was;
    const to = is === undefined ? emptyLike(was) : is;
    const inside = diffValues(from, to, { limit: maxChanges });
    // A list that is added whole is told by its elements, an empty one as it is.
    const { changes, omitted } = inside.changes.length > 0 ? inside : diffValues(was, is);
    return changes.length === 0 ? [] : [{ channel, kind, changes, omitted }];
  });
}

function valueOf(values: Values, channel: string): unknown {
  return Object.hasOwn(values, channel) ? values[channel] : undefined;
}

function emptyLike(value: unknown): unknown {
  return Array.isArray(value) ? [] : undefined;
}
