import type { MemoryEntry, MemoryType, NewMemoryEntry } from "./entry.ts";
import type { ForgetCounts, MemoryFilter, MemoryPage, MemoryStore, MemoryUse } from "./store.ts";

/** What is looked for, and where. */
export interface MemoryQuery extends Omit<MemoryFilter, "ids" | "keys" | "namespace"> {
  readonly namespace: readonly string[];
  /** In words; at most 8,000 characters are read. */
  readonly text: string;
  /** Entries at most. Default 5, 1 to 100. */
  readonly topK?: number;
  /** The least score, 0 to 1. Default 0. */
  readonly minScore?: number;
  /** Leaves out entries of these types of one thread: what its conversation holds already. */
  readonly except?: { readonly threadId: string; readonly types: readonly MemoryType[] };
  /** Overrides of the ranking's weights. */
  readonly weights?: Partial<MemoryWeights>;
  readonly signal?: AbortSignal;
}

/** Weights of what comes on top of relevance. */
export interface MemoryWeights {
  /** Default 0.05. */
  readonly importance: number;
  /** Default 0.05. */
  readonly recency: number;
}

/** Why an entry was found. Every part is from 0 to 1, before its weight. */
export interface MemoryReasons {
  /** BM25 of its words, relative to the best candidate. */
  readonly keyword: number;
  /** Cosine of its meaning, relative to the candidates; null without an encoder. */
  readonly meaning: number | null;
  /** What the entries next to it have. */
  readonly neighbours: number;
  /** What its whole session has. */
  readonly session: number;
  readonly importance: number;
  readonly recency: number;
  /** The words of the query that it has, as they stand in the query. */
  readonly terms: readonly string[];
  /** The names of the query that it is from, or mentions. */
  readonly entities: readonly string[];
}

export interface MemoryHit {
  readonly entry: MemoryEntry;
  /** From 0 to 1, comparable between queries: docs/memory.md. */
  readonly score: number;
  readonly why: MemoryReasons;
}

export interface ConsolidateOptions {
  /** A namespace or a prefix of some. Entries of one namespace are never merged into another one. */
  readonly namespace: readonly string[];
  /** Default: all threads, one after another, those with the oldest entries first; busy ones are skipped. */
  readonly threadId?: string;
  /** Default `hybrid`. */
  readonly strategy?: "importance" | "age" | "hybrid";
  /** Candidates of one call at most. Default 1,000. */
  readonly maxEntries?: number;
  /** Default 24. */
  readonly minAgeHours?: number;
  /** Tokens of a thread's short-term entries; the oldest beyond are candidates. Default 8,000. */
  readonly maxTokens?: number;
  /** Default 0.5. */
  readonly importanceThreshold?: number;
  /** Default 400. */
  readonly maxEntryTokens?: number;
  /** The time after which recency is 1/e, not 1/2, hours. Default 168. */
  readonly halfLifeHours?: number;
  /** Default true. */
  readonly archiveEvicted?: boolean;
  /** Default 0.3 recency, 0.3 frequency, 0.4 relevance. */
  readonly weights?: {
    readonly recency?: number;
    readonly frequency?: number;
    readonly relevance?: number;
  };
  /** The thread's latest goal: relevance of entries that no search has found. Default: what its user said last. */
  readonly goal?: string;
  /** Shortens a text that is too long. Default: its first and most salient sentences. */
  readonly summarise?: (text: string, signal?: AbortSignal) => Promise<string>;
  readonly signal?: AbortSignal;
}

/** What became of the candidates. */
export interface ConsolidationResult {
  readonly consolidated: number;
  readonly merged: number;
  readonly evicted: number;
  readonly archived: number;
  /** Left as they were: a model or the embeddings failed, or the entry changed meanwhile. */
  readonly left: number;
  /** Threads that were skipped, because another consolidation was running on them. */
  readonly busy: number;
}

/** The memories of a tenant, with search and upkeep: what agents, the command line and servers use. */
export interface Memory {
  readonly store: MemoryStore;
  /** The model of vectors; null where search is by words alone. */
  readonly embeddingModel: string | null;

  /**
   * Stores entries, with entities and a vector each. If the embeddings fail, entries are stored without: search finds
   * them by their words, and `reembed` adds the vectors later.
   *
   * @throws InvalidMemoryError
   */
  add(
    entries: readonly NewMemoryEntry[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<
    readonly { readonly id: string; readonly isNew: boolean; readonly isEmbedded: boolean }[]
  >;
  /**
   * Stores an entry, or replaces the one with its key, with a vector as {@link Memory.add} does.
   *
   * @throws InvalidMemoryError
   */
  put(
    entry: NewMemoryEntry & { readonly key: string },
    options?: { readonly signal?: AbortSignal },
  ): Promise<{ readonly id: string; readonly isEmbedded: boolean }>;
  /** Best first. @throws InvalidMemoryError */
  search(query: MemoryQuery): Promise<readonly MemoryHit[]>;
  get(ids: readonly string[]): Promise<readonly MemoryEntry[]>;
  list(filter: MemoryFilter, page?: MemoryPage): Promise<readonly MemoryEntry[]>;
  recordUses(uses: readonly MemoryUse[]): Promise<void>;
  /** @throws InvalidMemoryError; MemoryBusyError, if `threadId` is given */
  consolidate(options: ConsolidateOptions): Promise<ConsolidationResult>;
  /**
   * Adds missing vectors of the current model; resumable. Entries that cannot be embedded are skipped. Returns how many
   * were added.
   *
   * @throws EmbeddingError if the embeddings do not answer at all
   */
  reembed(options?: {
    readonly filter?: MemoryFilter;
    readonly signal?: AbortSignal;
    readonly onProgress?: (done: number) => void;
    /** Called for each entry that is skipped. */
    readonly onSkip?: (skipped: { readonly id: string; readonly reason: string }) => void;
  }): Promise<number>;
  forget(filter: MemoryFilter): Promise<ForgetCounts>;
  sweep(): Promise<number>;
}
