import type { MemoryEntry, MemoryVector } from "./entry.ts";
import type { ConsolidationChange, ConsolidationCounts } from "./store.ts";

/** Ids of merged entries that an entry keeps, the latest ones. */
const maxMerged = 1_000;

/** What a consolidation writes, decided before anything is written. */
export interface ConsolidationPlan {
  /** Entries as they become. `vector` undefined: stays. */
  readonly updates: ReadonlyMap<
    string,
    { readonly entry: MemoryEntry; readonly vector: MemoryVector | null | undefined }
  >;
  /** Ids, and what becomes of each: `into` for an entry that takes in its uses. */
  readonly removals: ReadonlyMap<string, { readonly archive: boolean; readonly into?: string }>;
  readonly counts: ConsolidationCounts;
}

/**
 * Decides what changes do to entries, one after another. A change is skipped if its entry is not there, is not as it was
 * read, or was changed before in the same list; a merge also if the entry that takes it in is not there, was not as it was
 * read, or is not in long-term memory: the change before that was to move it may have been skipped.
 */
export function planConsolidation(
  current: ReadonlyMap<string, MemoryEntry>,
  changes: readonly ConsolidationChange[],
  now: string,
): ConsolidationPlan {
  const entries = new Map(current);
  const vectors = new Map<string, MemoryVector | null>();
  const changed = new Set<string>();
  const removals = new Map<string, { archive: boolean; into?: string }>();
  const counts = { consolidated: 0, merged: 0, evicted: 0, archived: 0, skipped: 0 };

  for (const change of changes) {
    const entry = entries.get(change.id);
    const into = change.kind === "merge" ? entries.get(change.into) : undefined;
    const isStale = entry?.updated_at !== change.readAt;
    const takesIn = into !== undefined && into !== entry && into.memory_type !== "short_term";
    if (
      !entry ||
      isStale ||
      (change.kind === "merge" && !(takesIn && isTargetAsRead(current, change)))
    ) {
      counts.skipped += 1;
      continue;
    }
    if (change.kind === "move") {
      const moved = moveEntry(entry, change, now);
      entries.set(entry.id, moved);
      changed.add(entry.id);
      // A vector of the content that was replaced would find the entry by what it no longer says.
      if (change.embedding !== undefined) vectors.set(entry.id, change.embedding);
      else if (moved.content !== entry.content) vectors.set(entry.id, null);
      counts.consolidated += 1;
      continue;
    }
    if (into) {
      entries.set(into.id, mergeEntries(into, entry, now));
      changed.add(into.id);
      removals.set(entry.id, { archive: false, into: into.id });
      counts.merged += 1;
    } else {
      const archive = change.kind === "evict" && change.archive;
      removals.set(entry.id, { archive });
      counts.evicted += 1;
      counts.archived += archive ? 1 : 0;
    }
    entries.delete(entry.id);
    changed.delete(entry.id);
  }

  const updates = new Map(
    [...changed].map((id) => {
      const entry = entries.get(id)!;
      const vector = vectors.get(id);
      const embedding_model = vector === undefined ? entry.embedding_model : vector?.model;
      return [id, { entry: { ...entry, embedding_model: embedding_model ?? null }, vector }];
    }),
  );
  return { updates, removals, counts };
}

/** Several merges of one list go into the same entry: what counts is how that was before the list. */
function isTargetAsRead(
  current: ReadonlyMap<string, MemoryEntry>,
  { into, intoReadAt }: Extract<ConsolidationChange, { kind: "merge" }>,
): boolean {
  return intoReadAt === undefined || current.get(into)?.updated_at === intoReadAt;
}

function moveEntry(
  entry: MemoryEntry,
  { to, importance, summary }: Extract<ConsolidationChange, { kind: "move" }>,
  now: string,
): MemoryEntry {
  return {
    ...entry,
    memory_type: to,
    importance,
    ...(summary !== undefined && { summary, content: summary }),
    updated_at: laterThan(entry.updated_at, now),
  };
}

function mergeEntries(into: MemoryEntry, from: MemoryEntry, now: string): MemoryEntry {
  const { metadata, last_accessed } = into;
  const isLater = (from.last_accessed ?? "") > (last_accessed ?? "");
  const merged = [...(metadata.merged ?? []), ...(from.metadata.merged ?? []), from.id];
  return {
    ...into,
    access_count: into.access_count + from.access_count,
    last_accessed: isLater ? from.last_accessed : last_accessed,
    metadata: { ...metadata, merged: merged.slice(-maxMerged) },
    updated_at: laterThan(into.updated_at, now),
  };
}

/** The time of a write. It differs from the one before, so that `readAt` sees every write. */
export function laterThan(updatedAt: string, now: string): string {
  return now > updatedAt ? now : new Date(Date.parse(updatedAt) + 1).toISOString();
}
