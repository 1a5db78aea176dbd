/** One page of a listing. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** The `cursor` of the next page; null on the last page. */
  readonly next: string | null;
}

/** The metadata of a checkpoint, read without loading its values. */
export interface CheckpointSummary {
  readonly threadId: string;
  /**
   * Empty for the thread itself; `node:task` for a nested agent, joined by `|` for deeper levels.
   */
  readonly namespace: string;
  readonly id: string;
  /** The parent checkpoint; null for the first one of a thread. */
  readonly parentId: string | null;
  /** LangGraph's number of the superstep that made it: -1 for a first input. */
  readonly step: number | null;
  /** The kind of write that made it: `input`, `loop`, `update` or `fork`. */
  readonly source: string | null;
  /** The nodes whose run produced it. */
  readonly nodes: readonly string[];
  /** The channel `status`, if it is a string. */
  readonly status: string | null;
  /** The name of the agent that owned the thread; null if it was not recorded. */
  readonly agent?: string | null;
  /** ISO 8601. */
  readonly createdAt: string;
  /** Bytes that this checkpoint added to storage. */
  readonly bytes: number;
  /** Number of interrupts stored with it, from tasks that stopped here to ask a person. */
  readonly interrupts: number;
  /** Number of errors stored with it, from tasks that failed here. */
  readonly failures: number;
  /** Hash of the definition it was made under; null if it was not recorded. */
  readonly definitionHash: string | null;
  /** SHA-256 (hex) over its content; null where it has none. */
  readonly integrityHash?: string | null;
  /** The checkpoint it was copied from, if its thread began here as a fork of another. */
  readonly forkedFrom?: { readonly threadId: string; readonly checkpointId: string } | null;
}

/** A checkpoint of a thread or of one of its nested agents, as a step of the thread's path. */
export type PathCheckpoint = Pick<
  CheckpointSummary,
  "namespace" | "id" | "parentId" | "step" | "source" | "nodes" | "createdAt"
> & {
  readonly status: string | null;
  readonly interrupts: number;
  readonly failures: number;
  /** The checkpoints from which the agents around a nested one ran, by namespace. */
  readonly parents: Readonly<Record<string, string>>;
};

/** The metadata of a thread, read without loading its values. */
export interface ThreadSummary {
  readonly threadId: string;
  /** Number of checkpoints of the thread itself, without those of nested agents. */
  readonly checkpoints: number;
  readonly lastId: string;
  /** ISO 8601. */
  readonly updatedAt: string;
  readonly status: string | null;
  /** The name of the agent that owns it; null if it was not recorded. */
  readonly agent?: string | null;
  readonly bytes: number;
  readonly definitionHash: string | null;
}

/** Paging of a listing. */
export interface PageOptions {
  /** `next` of the previous page. */
  readonly cursor?: string;
  /** 1 to 1,000. Default 50. */
  readonly limit?: number;
}

/** Filter and paging of a thread listing. */
export interface ThreadListOptions extends PageOptions {
  /**
   * Only threads whose last checkpoint has this value in the channel `status`; the first 128 characters are compared.
   */
  readonly status?: string;
  /** Only threads of the agent with this name. */
  readonly agent?: string;
}

/** A checkpoint whose stored content differs from what was written. */
export interface DamagedCheckpoint {
  readonly namespace: string;
  readonly checkpointId: string;
  readonly reason: string;
}

export interface VerifyOptions {
  /** Called after each checkpoint; `total` is the number of checkpoints at the start. */
  readonly onProgress?: (progress: { readonly checked: number; readonly total: number }) => void;
  /** Aborting it stops the verification with the signal's reason. */
  readonly signal?: AbortSignal;
}

export interface ThreadVerification {
  /** Number of checkpoints read, damaged ones included. */
  readonly checked: number;
  readonly damaged: readonly DamagedCheckpoint[];
  /** SHA-256 (hex) of the attachments whose stored bytes do not have it. Absent if there are none. */
  readonly damagedAttachments?: readonly string[];
}

export interface PruneOptions {
  readonly threadId: string;
  /**
   * `latest`: only the last checkpoint; `turn_ends`: the last one of every turn; `all`: every one that is not older
   * than `olderThan`.
   */
  readonly keep: "latest" | "turn_ends" | "all";
  /** Only checkpoints made before this are removed. Default: all that `keep` does not retain. */
  readonly olderThan?: Date;
}

/** The number of removed rows. */
export interface PruneResult {
  readonly checkpoints: number;
  /** List elements and object entries that no checkpoint refers to any more. */
  readonly elements: number;
  /** Bytes of all that was removed, before the database compressed them. */
  readonly bytes: number;
}

/**
 * Sets of pending writes, as JSON can hold them. A checkpoint without any has one entry whose `taskId`, `idx` and `body`
 * are null.
 */
export type SavedWrites = readonly {
  readonly namespace: string;
  readonly checkpointId: string;
  readonly taskId: string | null;
  readonly idx: number | null;
  /** Base64 of the packed writes, opened where they were sealed. */
  readonly body: string | null;
}[];

export interface ImportResult {
  readonly threadId: string;
  readonly checkpoints: number;
}

/** Stores the bytes of attachments. Checkpoints refer to them by hash, so that they are stored once. */
export interface BlobStore {
  /**
   * Stores bytes for a thread. Bytes that are stored already are replaced by the same.
   *
   * @returns their SHA-256 in hex
   */
  put(
    threadId: string,
    blob: { readonly bytes: Uint8Array; readonly mimeType: string },
  ): Promise<string>;
  /**
   * Returns bytes that were stored for this thread; null if there are none.
   *
   * @throws {CorruptBlobError} when they do not have the hash
   */
  get(threadId: string, sha256: string): Promise<Uint8Array | null>;
  /** Removes a thread's bytes that no other thread refers to. */
  forget(threadId: string): Promise<void>;
}

/**
 * Methods that a checkpointer may offer in addition to LangGraph's interface. {@link PostgresCheckpointer} has all of
 * them.
 */
export interface DurableSaver {
  /** Stores attachments with the threads that refer to them. */
  readonly blobs: BlobStore;
  /** Newest first. */
  listSummaries(
    of: { readonly threadId: string; readonly namespace?: string } & PageOptions,
  ): Promise<Page<CheckpointSummary>>;
  /** Newest first, of the thread and of its nested agents. */
  listPath(of: {
    readonly threadId: string;
    readonly limit: number;
  }): Promise<readonly PathCheckpoint[]>;
  /** Most recently updated first. */
  listThreads(of?: ThreadListOptions): Promise<Page<ThreadSummary>>;
  /** Copies a checkpoint with its pending writes and those of its subgraphs to a new thread, under the same id. */
  forkThread(of: {
    readonly threadId: string;
    readonly checkpointId: string;
    readonly newThreadId: string;
  }): Promise<void>;
  verifyThread(threadId: string, options?: VerifyOptions): Promise<ThreadVerification>;
  prune(of: PruneOptions): Promise<PruneResult>;
  /** Removes checkpoints of the thread itself, with the data that only they referenced. */
  removeCheckpoints(of: {
    readonly threadId: string;
    readonly checkpointIds: readonly string[];
  }): Promise<PruneResult>;
  /** Reads the pending writes of a checkpoint, the newest by default, and of the subgraphs under it. */
  readPendingWrites(of: {
    readonly threadId: string;
    readonly checkpointId?: string | undefined;
  }): Promise<SavedWrites>;
  /**
   * Removes the checkpoints whose metadata has a `run_id`, and restores pending writes that were read before that run: all
   * of it, or nothing.
   *
   * @returns the number of removed checkpoints
   */
  rollBackRun(of: {
    readonly threadId: string;
    readonly runId: string;
    readonly restored: SavedWrites;
  }): Promise<number>;
  /** Yields lines of JSON. */
  exportThread(threadId: string): AsyncGenerator<string>;
  importThread(
    lines: AsyncIterable<string> | Iterable<string>,
    options?: { threadId?: string; checkThreadId?: (threadId: string) => unknown },
  ): Promise<ImportResult>;
  /** Stores a definition with the next checkpoint that has the hash. */
  rememberDefinition(hash: string, definition: unknown): void;
  /** Returns the document stored under a hash. @throws {CorruptDefinitionError} */
  definitionOf(hash: string): Promise<unknown>;
  /** Resolves when every write begun for the thread so far is durable or has failed. Never rejects. */
  drain(threadId: string): Promise<void>;
  /** The same. @throws the error of a write of the thread's run that failed */
  flush(threadId: string): Promise<void>;
  /**
   * Watches a run until the returned function is called: the first `put` or `putWrites` that fails calls `onFailure`, and
   * later writes of the run are dropped. They resolve, because under `async` durability LangGraph leaves them without a
   * handler, and a rejection would end the process.
   *
   * @param options.isAhead whether puts may resolve before they are stored, as far as the saver bounds it. `drain` then
   *   before the run counts as ended. Default false.
   */
  watchRun(
    threadId: string,
    onFailure: (error: unknown) => void,
    options?: { readonly isAhead?: boolean },
  ): () => void;
  /** Fails the watched run with `error`; its later writes are dropped. */
  refuseRun(threadId: string, error: unknown): void;
}

/** Returns a checkpointer with the given methods; null if it lacks one of them. */
export function durableSaver<Method extends keyof DurableSaver>(
  checkpointer: object | undefined,
  methods: readonly Method[],
): Pick<DurableSaver, Method> | null {
  const given: Partial<DurableSaver> | undefined = checkpointer;
  const hasAll = methods.every((method) => typeof given?.[method] === "function");
  return hasAll ? (given as Pick<DurableSaver, Method>) : null;
}
