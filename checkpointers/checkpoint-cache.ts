import type { ChannelVersions } from "@langchain/langgraph-checkpoint";
import type { ValueLayout } from "./elements/stored-value.ts";
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

/** The checkpoint by its values alone. */
export function withoutElements(known: CachedCheckpoint): CachedCheckpoint {
  const values = [...known.layouts].map(([channel, image]) => [channel, valueOf(image)] as const);
  const unstored = { ...known.unstored, ...Object.fromEntries(values) };
  return { ...known, layouts: new Map(), unstored, scalarLog: null };
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
