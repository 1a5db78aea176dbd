/** One page of a listing. */
export interface Page<Item> {
  readonly items: readonly Item[];
  /** Pass it as `cursor` to get the next page; null after the last one. */
  readonly next: string | null;
}

/** What is known of a checkpoint without loading its values. */
export interface CheckpointSummary {
  readonly threadId: string;
  /** Empty for the thread itself; `node:task` for an agent inside of a node, joined by `|` where they are nested. */
  readonly namespace: string;
  readonly id: string;
  /** The checkpoint that it was made from; null for the first one of a thread. */
  readonly parentId: string | null;
  /** LangGraph's number of the superstep that made it: -1 for a first input. */
  readonly step: number | null;
  /** What made it: `input`, `loop`, `update` or `fork`. */
  readonly source: string | null;
  /** The nodes that ran to make it. */
  readonly nodes: readonly string[];
  /** The channel `status`, where it is text. */
  readonly status: string | null;
  /** The name of the agent that the thread belonged to; null where nobody said. */
  readonly agent?: string | null;
  /** ISO 8601. */
  readonly createdAt: string;
  /** That this checkpoint added to what is stored. */
  readonly bytes: number;
  /** Interrupts that are stored with it: of tasks that stopped here to ask somebody. */
  readonly interrupts: number;
  /** Errors that are stored with it: of tasks that were thrown out of here. */
  readonly failures: number;
  /** Hash of the definition it was made under; null where nobody said. */
  readonly definitionHash: string | null;
  /** SHA-256 (hex) over its content; null where it has none. */
  readonly integrityHash?: string | null;
  /** Where it comes from, if its thread began here as a fork of another. */
  readonly forkedFrom?: { readonly threadId: string; readonly checkpointId: string } | null;
}

/** What is known of a thread without loading its values. */
export interface ThreadSummary {
  readonly threadId: string;
  /** Of the thread itself, without those of agents inside of it. */
  readonly checkpoints: number;
  readonly lastId: string;
  /** ISO 8601. */
  readonly updatedAt: string;
  readonly status: string | null;
  /** The name of the agent that it belongs to; null where nobody said. */
  readonly agent?: string | null;
  readonly bytes: number;
  readonly definitionHash: string | null;
}

/** Which threads are listed, and from where. */
export interface ThreadListOptions {
  /** `next` of the page before. */
  readonly cursor?: string;
  /** 1 to 1,000. Default 50. */
  readonly limit?: number;
  /** Only threads whose last checkpoint has this in the channel `status`, by its first 128 characters. */
  readonly status?: string;
  /** Only threads that belong to the agent of this name. */
  readonly agent?: string;
}

/** A checkpoint that is not what was written. */
export interface DamagedCheckpoint {
  readonly namespace: string;
  readonly checkpointId: string;
  readonly reason: string;
}

export interface VerifyOptions {
  /** Told after each checkpoint; `total` is how many there were when it began. */
  readonly onProgress?: (progress: { readonly checked: number; readonly total: number }) => void;
  /** Aborting it ends the reading with the signal's reason. */
  readonly signal?: AbortSignal;
}

export interface ThreadVerification {
  /** Checkpoints that were read, damaged ones included. */
  readonly checked: number;
  readonly damaged: readonly DamagedCheckpoint[];
}

export interface PruneOptions {
  readonly threadId: string;
  /** `latest`: the last checkpoint alone; `turn_ends`: the last one of every turn; `all`: every one that is not older than `olderThan`. */
  readonly keep: "latest" | "turn_ends" | "all";
  /** Only checkpoints made before this are removed. Default: all that `keep` does not keep. */
  readonly olderThan?: Date;
}

/** What was removed. */
export interface PruneResult {
  readonly checkpoints: number;
  /** Elements of lists and entries of objects that no checkpoint refers to any more. */
  readonly elements: number;
  readonly bytes: number;
}

export interface ImportResult {
  readonly threadId: string;
  readonly checkpoints: number;
}

/** What a checkpointer offers beside LangGraph's interface. {@link PostgresCheckpointer} does. */
export interface CheckpointArchive {
  /** Newest first. */
  listSummaries(of: {
    threadId: string;
    namespace?: string;
    cursor?: string;
    limit?: number;
  }): Promise<Page<CheckpointSummary>>;
  /** Most recently updated first. */
  listThreads(of?: ThreadListOptions): Promise<Page<ThreadSummary>>;
  /** Copies a checkpoint with its pending writes and those of its subgraphs to a new thread, under the same id. */
  forkThread(of: { threadId: string; checkpointId: string; newThreadId: string }): Promise<void>;
  verifyThread(threadId: string, options?: VerifyOptions): Promise<ThreadVerification>;
  prune(of: PruneOptions): Promise<PruneResult>;
  /** Removes checkpoints of the thread itself, and what only they needed. */
  removeCheckpoints(of: {
    threadId: string;
    checkpointIds: readonly string[];
  }): Promise<PruneResult>;
  /** Lines of JSON. */
  exportThread(threadId: string): AsyncGenerator<string>;
  importThread(
    lines: AsyncIterable<string> | Iterable<string>,
    options?: { threadId?: string; checkThreadId?: (threadId: string) => unknown },
  ): Promise<ImportResult>;
  /** Resolves when everything begun to be written to the thread so far is durable, or has failed. Never rejects. */
  settled(threadId: string): Promise<void>;
  /** What was remembered under a hash. @throws {CorruptDefinitionError} */
  definitionOf(hash: string): Promise<unknown>;
}

/** The archive that a checkpointer is, as far as these methods go; null where it lacks one of them. */
export function archiveIn<Method extends keyof CheckpointArchive>(
  checkpointer: object | undefined,
  methods: readonly Method[],
): Pick<CheckpointArchive, Method> | null {
  const given: Partial<CheckpointArchive> | undefined = checkpointer;
  const isArchive = methods.every((method) => typeof given?.[method] === "function");
  return isArchive ? (given as Pick<CheckpointArchive, Method>) : null;
}
