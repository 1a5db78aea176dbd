import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { ThreadPool } from "../src/storage/tenant-pool.ts";
import type { StoredCheckpointKey } from "./checkpoint-reader.ts";
import type { WriteTracker } from "./write-tracker.ts";

/** What is known under one claim of a thread. */
interface Known {
  /** By namespace. */
  readonly tuples: Map<string, Promise<CheckpointTuple | undefined>>;
  /** Writes that have begun and not ended. */
  writes: number;
}

/**
 * Reads the newest checkpoint of a claimed thread once between two writes. Only the claim's process writes the thread
 * meanwhile, since the database refuses writes under older claims. LangGraph and the guards around it ask several times.
 */
export class NewestTuples {
  readonly #known = new WeakMap<object, Known>();

  constructor(
    private readonly pool: Pick<ThreadPool, "claimOf">,
    private readonly tracker: Pick<WriteTracker, "write">,
  ) {}

  /**
   * Calls `read`, unless it is for the newest tuple and that is known. The caller may change the returned tuple, but no
   * value in it.
   */
  async read(
    of: StoredCheckpointKey,
    read: () => Promise<CheckpointTuple | undefined>,
  ): Promise<CheckpointTuple | undefined> {
    const known = of.id === null ? this.#of(of.threadId) : undefined;
    if (known === undefined || known.writes > 0) return read();
    const reading = known.tuples.get(of.namespace) ?? read();
    known.tuples.set(of.namespace, reading);
    try {
      return copyOf(await reading);
    } catch (error) {
      if (known.tuples.get(of.namespace) === reading) known.tuples.delete(of.namespace);
      throw error;
    }
  }

  /** Runs a write of a thread by the tracker, after which the newest checkpoint is read again. */
  async write(threadId: string, write: () => Promise<void>): Promise<void> {
    return this.change(threadId, () => this.tracker.write(threadId, write));
  }

  /** Runs a change of a thread, after which its newest checkpoint is read again. */
  async change<T>(threadId: string, change: () => Promise<T>): Promise<T> {
    const known = this.#of(threadId);
    if (known === undefined) return change();
    known.writes += 1;
    known.tuples.clear();
    try {
      return await change();
    } finally {
      known.writes -= 1;
    }
  }

  #of(threadId: string): Known | undefined {
    const claim = this.pool.claimOf(threadId);
    if (claim === undefined) return undefined;
    const known = this.#known.get(claim) ?? { tuples: new Map(), writes: 0 };
    this.#known.set(claim, known);
    return known;
  }
}

function copyOf(tuple: CheckpointTuple | undefined): CheckpointTuple | undefined {
  if (tuple === undefined) return undefined;
  const { checkpoint, pendingWrites } = tuple;
  const seen = Object.entries(checkpoint.versions_seen).map(([node, of]) => [node, { ...of }]);
  return {
    ...tuple,
    checkpoint: {
      ...checkpoint,
      channel_values: { ...checkpoint.channel_values },
      channel_versions: { ...checkpoint.channel_versions },
      versions_seen: Object.fromEntries(seen),
    },
    ...(pendingWrites && { pendingWrites: [...pendingWrites] }),
  };
}
