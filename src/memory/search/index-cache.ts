import { abortable } from "../../async.ts";
import { runInSlices } from "../../event-loop.ts";
import type { MemoryFilter, MemoryStore } from "../store.ts";
import { MemoryIndex } from "./memory-index.ts";

/** Entries of one call of `changes`. */
const pageSize = 1_000;

export interface IndexCacheOptions {
  /** Estimated bytes of all indexes. The one in use stays even if it is larger. Default 64 MiB. */
  readonly maxBytes?: number;
}

interface Cached {
  readonly namespace: readonly string[];
  index: MemoryIndex;
  running: Promise<void> | undefined;
  /** Starts after the running one, for callers that came meanwhile. */
  waiting: Promise<void> | undefined;
}

/**
 * The indexes of namespaces of a store, built at the first search and kept in step with `changes`. The one that was used
 * longest ago is dropped first.
 */
export class IndexCache {
  readonly #maxBytes: number;
  /** In the order of their last use. */
  readonly #cached = new Map<string, Cached>();

  constructor(
    readonly store: MemoryStore,
    { maxBytes = 64 * 1_024 ** 2 }: IndexCacheOptions = {},
  ) {
    this.#maxBytes = maxBytes;
  }

  /** Estimated bytes of all indexes. */
  get bytes(): number {
    let sum = 0;
    for (const { index } of this.#cached.values()) sum += index.bytes;
    return sum;
  }

  /** Returns the index of a namespace prefix with all entries that were written before the call. */
  async open(
    namespace: readonly string[],
    { model, signal }: { readonly model: string | null; readonly signal?: AbortSignal | undefined },
  ): Promise<MemoryIndex> {
    signal?.throwIfAborted();
    const key = JSON.stringify([model, namespace]);
    const cached: Cached = this.#cached.get(key) ?? {
      namespace,
      index: new MemoryIndex(model),
      running: undefined,
      waiting: undefined,
    };
    this.#cached.delete(key);
    this.#cached.set(key, cached);
    await abortable(this.#update(cached), signal);
    this.#evict(cached);
    return cached.index;
  }

  /** Drops the indexes that may have entries of a removal, so that their words do not stay in memory. */
  forget({ namespace = [] }: MemoryFilter): void {
    for (const [key, cached] of this.#cached) {
      const overlaps = cached.namespace.every(
        (label, at) => at >= namespace.length || label === namespace[at],
      );
      if (overlaps) this.#cached.delete(key);
    }
  }

  /** An update that began before the call may have read before the caller's writes, so that one more follows it. */
  #update(cached: Cached): Promise<void> {
    if (cached.running === undefined) {
      const running = this.#read(cached).finally(() => {
        if (cached.running === running) cached.running = undefined;
      });
      cached.running = running;
      return running;
    }
    cached.waiting ??= cached.running
      .catch(() => undefined)
      .then(() => {
        cached.waiting = undefined;
        return this.#update(cached);
      });
    return cached.waiting;
  }

  async #read(cached: Cached): Promise<void> {
    if (cached.index.isWorn) cached.index = new MemoryIndex(cached.index.model);
    const { index, namespace } = cached;
    for (;;) {
      const changes = await this.store.changes(namespace, index.position, pageSize);
      await runInSlices(index.apply(changes.entries));
      index.position = changes.position;
      if (!changes.hasMore) return;
    }
  }

  #evict(used: Cached): void {
    let { bytes } = this;
    for (const [key, cached] of this.#cached) {
      if (bytes <= this.#maxBytes) return;
      if (cached === used || cached.running !== undefined) continue;
      bytes -= cached.index.bytes;
      this.#cached.delete(key);
    }
  }
}
