/** How far from its end a list is searched for the part that was folded before. */
const reach = 16;

/**
 * A fold over lists that grow at their end, remembered so that a list that was folded before and has grown costs only
 * what was added. Whatever else happened to it (a fork, an element replaced in the middle) is noticed, and the list is
 * folded anew. Elements are compared by identity and must not change.
 *
 * @param empty makes the value of an empty list
 * @param add takes one more element into the value, in place
 * @returns the fold; its value belongs to the fold and is valid until the next call
 */
export function appendFold<T extends object, Value>(
  empty: () => Value,
  add: (value: Value, element: T) => void,
): (list: readonly T[]) => Value {
  const folded = new WeakMap<T, { readonly list: readonly T[]; readonly value: Value }>();
  return (list) => {
    const last = list.at(-1);
    if (last === undefined) return empty();
    const known = longestKnown(list, folded);
    if (known?.list.length === list.length) return known.value;
    const value = known?.value ?? empty();
    for (let at = known?.list.length ?? 0; at < list.length; at += 1) add(value, list[at] as T);
    folded.set(last, { list, value });
    return value;
  };
}

/** The longest remembered prefix; it is forgotten under its old end unless it is the whole list, since it will grow. */
function longestKnown<T extends object, Entry extends { readonly list: readonly T[] }>(
  list: readonly T[],
  folded: WeakMap<T, Entry>,
): Entry | undefined {
  for (let end = list.length; end > 0 && end > list.length - reach; end -= 1) {
    const key = list[end - 1] as T;
    const entry = folded.get(key);
    if (entry !== undefined && entry.list.length === end && isPrefix(entry.list, list)) {
      if (end < list.length) folded.delete(key);
      return entry;
    }
  }
  return undefined;
}

function isPrefix<T>(prefix: readonly T[], list: readonly T[]): boolean {
  for (let at = 0; at < prefix.length; at += 1) {
    if (prefix[at] !== list[at]) return false;
  }
  return true;
}
