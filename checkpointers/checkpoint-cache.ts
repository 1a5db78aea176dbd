import type { ThreadPool } from "../src/storage/tenant-pool.ts";
import type { ChannelVersions, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { ValueLayout } from "./elements/store-value.ts";
import { valueOf } from "./elements/load-value.ts";
import type { LogTail } from "./elements/sequence.ts";

/** What this process remembers of a checkpoint that it wrote or read, so that the next one costs what is new in it. */
export interface CachedCheckpoint {
  readonly id: string;
  readonly parentId: string | null;
  readonly parentHash: Buffer | null;
  /** Null for one of the stock class. */
  readonly hash: Buffer | null;
  readonly versions: Readonly<ChannelVersions>;
  readonly seen: Readonly<Record<string, Readonly<ChannelVersions>>>;
  /** By channel, for those that have a value. */
  readonly layouts: ReadonlyMap<string, ValueLayout>;
  /** Values by channel that have no images: of the stock class, or whose elements are gone. */
  readonly unstored: Readonly<Record<string, unknown>> | null;
  readonly scalarLog: LogTail | null;
  /** The sets of its pending writes that a delta channel may be put together from, as far as they are known here. */
  readonly writeSets: Set<WriteSetName>;
  /** Bytes of all elements, about. */
  readonly bytes: number;
}

/** Names a set of writes among those of its checkpoint. */
export type WriteSetName = `${number} ${string}`;

/** Null for special writes, which go to no channel of the graph. */
export function writeSetName(of: {
  readonly idx: number;
  readonly taskId: string;
}): WriteSetName | null {
  return of.idx < 0 ? null : `${of.idx} ${of.taskId}`;
}

/** The name under which a thread's checkpoints are known, those of each subgraph apart. */
export function threadKey(of: { readonly threadId: string; readonly namespace: string }): string {
  return JSON.stringify([of.threadId, of.namespace]);
}

/** The checkpoint by its values alone: its row may have been replaced, so that it has another hash. */
export function withoutElements(known: CachedCheckpoint): CachedCheckpoint {
  const values = [...known.layouts].map(([channel, image]) => [channel, valueOf(image)] as const);
  const unstored = { ...known.unstored, ...Object.fromEntries(values) };
  return { ...known, hash: null, layouts: new Map(), unstored, scalarLog: null };
}

/** A run looks at the last one; forks and copies look at one or two more. */
const PER_THREAD = 4;

/** Checkpoints of a thread that are on their way while tasks run on: a slow database falls behind by many. */
const MAX_AHEAD = 10_000;
/** Threads whose writes are waiting for their checkpoints: those that run, and some that were cut off. */
const MAX_EARLY = 1000;

/** An LRU cache of checkpoints, limited in bytes. */
export class CheckpointCache {
  readonly #threads = new Map<string, Map<string, CachedCheckpoint>>();
  /** Sets of writes by thread and checkpoint, where the checkpoint is still on its way. */
  readonly #early = new Map<string, Map<string, Set<WriteSetName>>>();
  #bytes = 0;

  constructor(private readonly maxBytes: number) {}

  get(thread: string, id: string): CachedCheckpoint | undefined {
    const known = this.#threads.get(thread);
    if (known === undefined) return undefined;
    this.#threads.delete(thread);
    this.#threads.set(thread, known);
    return known.get(id);
  }

  /** The checkpoint itself, or else the last one of its thread. */
  closest(thread: string, id: string | null): CachedCheckpoint | undefined {
    const known = this.#threads.get(thread);
    return (id === null ? undefined : known?.get(id)) ?? [...(known?.values() ?? [])].at(-1);
  }

  /** All of a thread, the newest last. */
  all(thread: string): readonly CachedCheckpoint[] {
    return [...(this.#threads.get(thread)?.values() ?? [])];
  }

  add(thread: string, checkpoint: CachedCheckpoint): void {
    const known = this.#threads.get(thread) ?? new Map<string, CachedCheckpoint>();
    const { id } = checkpoint;
    const early = this.#early.get(thread);
    const { writeSets } = checkpoint;
    for (const name of known.get(id)?.writeSets ?? []) writeSets.add(name);
    for (const name of early?.get(id) ?? []) writeSets.add(name);
    early?.delete(id);
    if (early?.size === 0) this.#early.delete(thread);
    this.#bytes -= bytesOf(known);
    known.delete(id);
    known.set(id, checkpoint);
    const [oldest] = known.keys();
    if (known.size > PER_THREAD) known.delete(oldest!);
    this.#bytes += bytesOf(known);
    this.#threads.delete(thread);
    this.#threads.set(thread, known);
    for (const other of this.#threads.keys()) {
      if (this.#bytes <= this.maxBytes || other === thread) break;
      this.forget(other);
    }
  }

  /** Writes of a checkpoint were stored, perhaps before the checkpoint itself. */
  addWrites(thread: string, id: string, names: readonly WriteSetName[]): void {
    const early = this.#early.get(thread) ?? new Map<string, Set<WriteSetName>>();
    const known = this.#threads.get(thread)?.get(id)?.writeSets;
    const writeSets = known ?? early.get(id) ?? new Set();
    for (const name of names) writeSets.add(name);
    if (known !== undefined) return;
    early.set(id, writeSets);
    if (early.size > MAX_AHEAD) early.delete(early.keys().next().value!);
    this.#early.delete(thread);
    this.#early.set(thread, early);
    if (this.#early.size > MAX_EARLY) this.#early.delete(this.#early.keys().next().value!);
  }

  /** The elements of a thread's checkpoints are not to be referred to any more. */
  withoutElements(thread: string): void {
    const known = this.#threads.get(thread);
    for (const [id, checkpoint] of known ?? []) known!.set(id, withoutElements(checkpoint));
  }

  forget(thread: string): void {
    this.#bytes -= bytesOf(this.#threads.get(thread));
    this.#threads.delete(thread);
    this.#early.delete(thread);
  }

  /** With its subgraphs. */
  forgetThread(threadId: string): void {
    for (const thread of [...this.#threads.keys(), ...this.#early.keys()]) {
      if ((JSON.parse(thread) as [string])[0] === threadId) this.forget(thread);
    }
  }
}

/** Checkpoints of one thread share most of what they hold. */
function bytesOf(known: ReadonlyMap<string, CachedCheckpoint> | undefined): number {
  return Math.max(0, ...[...(known?.values() ?? [])].map(({ bytes }) => bytes));
}

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
    private readonly tracker: {
      write(threadId: string, work: () => Promise<void>): Promise<void>;
    },
  ) {}

  /**
   * Calls `read`, unless it is for the newest tuple and that is known. The caller may change the returned tuple, but no
   * value in it.
   */
  async read(
    of: { readonly threadId: string; readonly namespace: string; readonly id: string | null },
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

  /**
   * Runs a write of a thread by the tracker, after which the newest checkpoint is read again. Resolves when it has ended,
   * or calls `goOn`.
   */
  write(threadId: string, write: (goOn: () => void) => Promise<void>): Promise<void> {
    return new Promise((goOn, reject) => {
      const tracked = () => this.tracker.write(threadId, () => write(goOn));
      this.change(threadId, tracked).then(goOn, reject);
    });
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
