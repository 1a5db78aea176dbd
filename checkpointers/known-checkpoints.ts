import type { ChannelVersions } from "@langchain/langgraph-checkpoint";
import type { Image } from "./elements/image.ts";
import type { LogTail } from "./elements/log.ts";

/** What this process remembers of a checkpoint that it wrote or read, so that the next one costs what is new in it. */
export interface KnownCheckpoint {
  readonly id: string;
  /** Null for one of the stock class. */
  readonly hash: Buffer | null;
  readonly versions: Readonly<ChannelVersions>;
  readonly seen: Readonly<Record<string, Readonly<ChannelVersions>>>;
  /** By channel, for those that have a value. */
  readonly images: ReadonlyMap<string, Image>;
  /** Values by channel of a checkpoint of the stock class, which have no images. */
  readonly unstored: Readonly<Record<string, unknown>> | null;
  readonly heap: LogTail | null;
  /** Bytes of all elements, about. */
  readonly bytes: number;
}

/** The name under which a thread's checkpoints are known, those of each subgraph apart. */
export function threadKey(of: { readonly threadId: string; readonly namespace: string }): string {
  return JSON.stringify([of.threadId, of.namespace]);
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

  forget(thread: string): void {
    this.#bytes -= bytesOf(this.#threads.get(thread));
    this.#threads.delete(thread);
  }

  forgetAll(where: (thread: string) => boolean): void {
    for (const thread of this.#threads.keys()) if (where(thread)) this.forget(thread);
  }
}

/** Checkpoints of one thread share most of what they hold. */
function bytesOf(known: ReadonlyMap<string, KnownCheckpoint> | undefined): number {
  return Math.max(0, ...[...(known?.values() ?? [])].map(({ bytes }) => bytes));
}
