import type {
  MemoryEntry,
  MemoryMetadata,
  MemorySource,
  MemoryType,
  MemoryVector,
  NewMemoryEntry,
} from "./entry.ts";

/** The memories of all tenants. */
export interface MemoryDatabase {
  /** The only way to entries: whatever a statement leaves out, it reads and writes entries of this tenant alone. */
  forTenant(tenantId: string): MemoryStore;
}

/** The tenant of a process that serves only one. */
export const defaultTenant = "00000000-0000-0000-0000-000000000000";

/** Selects entries. Parts that are left out select all; expired entries are never selected. */
export interface MemoryFilter {
  /** A namespace or a prefix of some, matched by whole labels: `["agents"]` does not match `["agents-2"]`. */
  readonly namespace?: readonly string[];
  /** Whether `namespace` is the whole namespace instead of a prefix; nothing without `namespace`. Default false. */
  readonly exact?: boolean;
  readonly ids?: readonly string[];
  readonly keys?: readonly string[];
  readonly types?: readonly MemoryType[];
  readonly threadId?: string;
  readonly instanceId?: string;
  readonly source?: MemorySource;
  /** Entries that have all of them. */
  readonly tags?: readonly string[];
  /** `created_at` at or after, ISO 8601. */
  readonly since?: string;
  /** `created_at` before, ISO 8601. */
  readonly until?: string;
}

export interface MemoryPage {
  /** Default `newest`. `accessed`: the last accessed first, entries that never were last. */
  readonly order?: "newest" | "oldest" | "accessed";
  /** Default 100, at most 1,000. */
  readonly limit?: number;
  /** Continues after the entry with this id, in the same order. */
  readonly after?: string;
}

/** An entry as the search index reads it. */
export interface IndexedEntry extends Pick<
  MemoryEntry,
  | "id"
  | "namespace"
  | "thread_id"
  | "memory_type"
  | "content"
  | "importance"
  | "last_accessed"
  | "metadata"
  | "created_at"
  | "expires_at"
  | "embedding_model"
> {
  /** The vector, for stores without a vector index; else null. */
  readonly vector: Float32Array | null;
}

/** What has changed since a position. */
export interface MemoryChanges {
  readonly entries: readonly IndexedEntry[];
  /** Where the next call continues. Opaque. */
  readonly position: string;
  /** Whether the next call has more entries at once. */
  readonly hasMore: boolean;
}

/** An entry that went into a context. */
export interface MemoryUse {
  readonly id: string;
  /** The run of the turn. One run counts once for an entry. */
  readonly run: string;
  readonly threadId: string | null;
  /** From 0 to 1. */
  readonly score: number;
}

/** Changes of a consolidation, applied as a whole. An entry that is no longer as it was read is left alone. */
export type ConsolidationChange =
  | {
      readonly kind: "move";
      readonly id: string;
      /** `updated_at` as it was read. */
      readonly readAt: string;
      readonly to: Exclude<MemoryType, "short_term">;
      readonly importance: number;
      /** Set where the content was too long: replaces it, and becomes `summary` as well. */
      readonly summary?: string;
      readonly embedding?: MemoryVector | null;
    }
  | {
      readonly kind: "merge";
      readonly id: string;
      readonly readAt: string;
      /** The entry that takes it in: counts add up, the later access stays, its id goes into `metadata.merged`. */
      readonly into: string;
      /** `updated_at` of that entry as it was read: one that says something else by now takes nothing in. */
      readonly intoReadAt?: string;
    }
  | {
      readonly kind: "evict";
      readonly id: string;
      readonly readAt: string;
      readonly archive: boolean;
    };

/** What became of the changes, by kind; `skipped` were not as they had been read. */
export interface ConsolidationCounts {
  readonly consolidated: number;
  readonly merged: number;
  readonly evicted: number;
  readonly archived: number;
  readonly skipped: number;
}

/** What a removal removed. */
export interface ForgetCounts {
  readonly entries: number;
  /** Archived copies. */
  readonly archived: number;
  /** References from contexts of threads, which are by id: the text is nowhere else. */
  readonly uses: number;
  /** Threads whose contexts had the entries, at most 100, oldest use first. */
  readonly threads: readonly string[];
}

/** The vector of an entry. */
export interface EntryVector extends MemoryVector {
  readonly id: string;
  /** `updated_at` of the entry whose content the vector is of. */
  readonly readAt?: string;
}

export interface NearestEntry {
  readonly id: string;
  /** Cosine, -1 to 1. */
  readonly similarity: number;
}

/**
 * The memories of one tenant. All implementations pass one contract suite. Every method rejects with a `MemoryError` of
 * its own, or with an error of the database; a rejected write has changed nothing.
 */
export interface MemoryStore {
  readonly tenantId: string;
  /** Whether the store searches vectors itself: then `changes` leaves them out. Known after the first call. */
  hasVectorIndex(): Promise<boolean>;

  /**
   * Stores entries in one transaction. An entry whose key its namespace has already is left as it is; `isNew` is false
   * then, and `id` is that of the stored one.
   *
   * @throws InvalidMemoryError, MemoryDimensionError
   */
  add(
    entries: readonly NewMemoryEntry[],
  ): Promise<readonly { readonly id: string; readonly isNew: boolean }[]>;

  /** Stores an entry, or replaces content, value, metadata, type, expiry and vector of the one with its key. */
  put(entry: NewMemoryEntry & { readonly key: string }): Promise<{ readonly id: string }>;

  /** Entries in no order; those that are not there, or expired, are left out. */
  get(ids: readonly string[]): Promise<readonly MemoryEntry[]>;

  list(filter: MemoryFilter, page?: MemoryPage): Promise<readonly MemoryEntry[]>;
  count(filter: MemoryFilter): Promise<number>;
  /** Distinct namespaces with entries under a prefix, in order. */
  namespaces(prefix: readonly string[]): Promise<readonly (readonly string[])[]>;

  /**
   * Replaces parts of an entry. False if it is not there, or, with `readAt`, no longer as it was read.
   *
   * @throws InvalidMemoryError
   */
  update(
    id: string,
    change: {
      readonly content?: string;
      readonly importance?: number;
      readonly metadata?: MemoryMetadata;
      readonly memory_type?: MemoryType;
      readonly expires_at?: string | null;
    },
    readAt?: string,
  ): Promise<boolean>;

  /**
   * Sets vectors; those of entries that are gone, or no longer as they were read at `readAt`, are left out.
   *
   * @throws MemoryDimensionError
   */
  setVectors(vectors: readonly EntryVector[]): Promise<void>;
  /** Entries without a vector of the model, oldest first: those that `reembed` has to do. */
  withoutVector(
    filter: MemoryFilter,
    model: string,
    limit: number,
  ): Promise<readonly MemoryEntry[]>;
  /**
   * The nearest entries by cosine among those with a vector of the same model and dimensions, best first.
   * Exact without a vector index, approximate with one.
   */
  nearest(
    filter: MemoryFilter,
    vector: MemoryVector,
    limit: number,
  ): Promise<readonly NearestEntry[]>;
  /** Cosines of given entries; those without a vector of the model are left out. */
  similarities(ids: readonly string[], vector: MemoryVector): Promise<readonly NearestEntry[]>;

  /** Entries under a namespace prefix that were written since a position; null for all. Removed ones are not reported. */
  changes(
    namespace: readonly string[],
    position: string | null,
    limit: number,
  ): Promise<MemoryChanges>;

  /** Counts accesses: `access_count`, `last_accessed` and `last_score`, once for each entry and run. */
  recordUses(uses: readonly MemoryUse[]): Promise<void>;

  /**
   * Runs `work` while no other consolidation of the same thread runs, in any process. `apply` is one transaction.
   *
   * @throws MemoryBusyError if one is running
   */
  consolidating<T>(
    at: { readonly namespace: readonly string[]; readonly threadId: string | null },
    work: (
      apply: (changes: readonly ConsolidationChange[]) => Promise<ConsolidationCounts>,
    ) => Promise<T>,
  ): Promise<T>;
  /** Archived entries, newest first. */
  archived(filter: MemoryFilter, page?: MemoryPage): Promise<readonly MemoryEntry[]>;

  /** Removes entries, their vectors, archived copies and uses, in one transaction. At least one part of the filter is set. */
  forget(filter: MemoryFilter): Promise<ForgetCounts>;
  /** Removes expired entries; returns how many. */
  sweep(): Promise<number>;
}
