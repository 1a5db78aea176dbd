import { checkPage, unknownAfter } from "./check-entry.ts";
import type { MemoryEntry } from "./entry.ts";
import type { MemoryFilter, MemoryPage } from "./store.ts";

/** Tests whether an entry is selected by a checked filter; expiry is the caller's. */
export function matcherOf(filter: MemoryFilter): (entry: MemoryEntry) => boolean {
  const { namespace, exact = false, ids, keys, types, tags, since, until } = filter;
  return (entry) =>
    (namespace === undefined ||
      ((!exact || entry.namespace.length === namespace.length) &&
        namespace.every((label, at) => entry.namespace[at] === label))) &&
    (ids?.includes(entry.id) ?? true) &&
    (keys?.includes(entry.key) ?? true) &&
    (types?.includes(entry.memory_type) ?? true) &&
    (filter.threadId === undefined || entry.thread_id === filter.threadId) &&
    (filter.instanceId === undefined || entry.instance_id === filter.instanceId) &&
    (filter.source === undefined || entry.metadata.source === filter.source) &&
    (tags?.every((tag) => entry.metadata.tags.includes(tag)) ?? true) &&
    (since === undefined || entry.created_at >= since) &&
    (until === undefined || entry.created_at < until);
}

/**
 * A page of entries in its order. `find` finds the entry that the page continues after, which need not be among `entries`.
 *
 * @throws InvalidMemoryError if that is gone
 */
export function pageOf(
  entries: readonly MemoryEntry[],
  page: MemoryPage,
  find: (id: string) => MemoryEntry | undefined,
): readonly MemoryEntry[] {
  const { order, limit, after } = checkPage(page);
  const sign = order === "oldest" ? 1 : -1;
  const placeOf = ({ id, created_at, last_accessed }: MemoryEntry) =>
    `${order === "accessed" ? (last_accessed ?? "") : created_at}/${id}`;
  const sorted = entries.toSorted((a, b) => (placeOf(a) < placeOf(b) ? -sign : sign));
  if (after === undefined) return sorted.slice(0, limit);
  const last = find(after);
  if (!last) throw unknownAfter(after);
  const from = placeOf(last);
  const following = sorted.filter((entry) =>
    sign === 1 ? placeOf(entry) > from : placeOf(entry) < from,
  );
  return following.slice(0, limit);
}
