import type { ChannelVersions } from "@langchain/langgraph-checkpoint";
import type { Image } from "./elements/image.ts";
import { valueOf } from "./elements/load-value.ts";
import type { LogTail } from "./elements/log.ts";

/** What this process remembers of a checkpoint that it wrote or read, so that the next one costs what is new in it. */
export interface KnownCheckpoint {
  readonly id: string;
  readonly parentId: string | null;
  readonly parentHash: Buffer | null;
  /** Null for one of the stock class. */
  readonly hash: Buffer | null;
  readonly versions: Readonly<ChannelVersions>;
  readonly seen: Readonly<Record<string, Readonly<ChannelVersions>>>;
  /** By channel, for those that have a value. */
  readonly images: ReadonlyMap<string, Image>;
  /** Values by channel that have no images: of the stock class, or whose elements are gone. */
  readonly unstored: Readonly<Record<string, unknown>> | null;
  readonly heap: LogTail | null;
  /** Bytes of all elements, about. */
  readonly bytes: number;
}

/** The name under which a thread's checkpoints are known, those of each subgraph apart. */
export function threadKey(of: { readonly threadId: string; readonly namespace: string }): string {
  return JSON.stringify([of.threadId, of.namespace]);
}

/** The checkpoint by its values alone. */
export function withoutElements(known: KnownCheckpoint): KnownCheckpoint {
  const values = [...known.images].map(([channel, image]) => [channel, valueOf(image)] as const);
  const unstored = { ...known.unstored, ...Object.fromEntries(values) };
  return { ...known, images: new Map(), unstored, heap: null };
}

/** A run looks at the last one; forks and copies look at one or two more. */
const PER_THREAD = 4;

/** The checkpoints that were used last, so many bytes of them. */
export class KnownCheckpoints {
  readonly #threads = new Map<string, Map<string, KnownCheckpoint>>();
  #bytes = 0;

  constructor(private readonly maxBytes: number) {}

  get(thread: string, id: string): KnownCheckpoint | undefined {
    const known = this.#threads.get(thread);
    if (known === undefined) return undefined;
    this.#threads.delete(thread);
    this.#threads.set(thread, known);
    return known.get(id);
  }

  /** All of a thread, the newest last. */
  all(thread: string): readonly KnownCheckpoint[] {
    return [...(this.#threads.get(thread)?.values() ?? [])];
  }

  add(thread: string, checkpoint: KnownCheckpoint): void {
    const known = this.#threads.get(thread) ?? new Map<string, KnownCheckpoint>();
    this.#bytes -= bytesOf(known);
    known.delete(checkpoint.id);
    known.set(checkpoint.id, checkpoint);
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

  /** The elements of a thread's checkpoints are not to be referred to any more. */
  withoutElements(thread: string): void {
    const known = this.#threads.get(thread);
    for (const [id, checkpoint] of known ?? []) known!.set(id, withoutElements(checkpoint));
  }

  forget(thread: string): void {
    this.#bytes -= bytesOf(this.#threads.get(thread));
    this.#threads.delete(thread);
  }

  /** With its subgraphs. */
  forgetThread(threadId: string): void {
    for (const thread of this.#threads.keys()) {
      if ((JSON.parse(thread) as [string])[0] === threadId) this.forget(thread);
    }
  }
}

/** Checkpoints of one thread share most of what they hold. */
function bytesOf(known: ReadonlyMap<string, KnownCheckpoint> | undefined): number {
  return Math.max(0, ...[...(known?.values() ?? [])].map(({ bytes }) => bytes));
}
