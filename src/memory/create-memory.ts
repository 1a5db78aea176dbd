import type { Clock } from "../clock.ts";
import type { Embeddings } from "../models/embeddings/embeddings.ts";
import { consolidateMemory } from "./consolidate.ts";
import { type MemoryVector, type NewMemoryEntry, newMemoryEntrySchema } from "./entry.ts";
import { InvalidMemoryError, MemoryDimensionError } from "./errors.ts";
import type { Memory } from "./memory.ts";
import { reembedMemory } from "./reembed.ts";
import { findEntities } from "./search/entities.ts";
import { createMemorySearch } from "./search/memory-search.ts";
import type { MemoryStore } from "./store.ts";
import { tryEmbed } from "./vectors.ts";

export interface CreateMemoryOptions {
  readonly store: MemoryStore;
  /** Null: search is by words alone. */
  readonly embeddings: Embeddings | null;
  readonly clock: Clock;
  /** Milliseconds that `add` and `put` wait for vectors before they store entries without. Default 10,000. */
  readonly embedTimeoutMs?: number;
}

const defaultEmbedTimeoutMs = 10_000;

/** The memories of a tenant over a store. */
export function createMemory(options: CreateMemoryOptions): Memory {
  const { store, embeddings, clock, embedTimeoutMs: timeoutMs = defaultEmbedTimeoutMs } = options;
  const index = createMemorySearch({ store, embeddings, clock });
  const search: Memory["search"] = (query) => index.search(query);

  async function embed<Entry extends NewMemoryEntry>(
    entries: readonly Entry[],
    signal: AbortSignal | undefined,
  ): Promise<readonly Entry[]> {
    for (const [at, entry] of entries.entries()) checkContent(entry, at);
    const lacking = entries.filter(({ embedding }) => !embedding);
    const contents = lacking.map(({ content }) => content);
    const vectors =
      embeddings === null ? [] : await tryEmbed(contents, { embeddings, clock, timeoutMs, signal });
    const found = new Map<Entry, MemoryVector | null>();
    for (const [at, entry] of lacking.entries()) found.set(entry, vectors[at] ?? null);
    return entries.map((entry) => {
      const { metadata, content } = entry;
      const entities = metadata?.entities ?? findEntities(content);
      const embedding = entry.embedding ?? found.get(entry) ?? null;
      return { ...entry, metadata: { ...metadata, entities }, embedding };
    });
  }

  return {
    store,
    embeddingModel: embeddings?.id ?? null,
    async add(entries, { signal } = {}) {
      const complete = await embed(entries, signal);
      const { written, stored } = await write(complete, entries, (all) => store.add(all));
      const known = await store.get(stored.flatMap(({ id, isNew }) => (isNew ? [] : [id])));
      const models = new Map(known.map(({ id, embedding_model: model }) => [id, model]));
      return stored.map((one, at) => ({
        ...one,
        isEmbedded: one.isNew ? written[at]?.embedding != null : models.get(one.id) != null,
      }));
    },
    async put(entry, { signal } = {}) {
      const complete = await embed([entry], signal);
      const { written, stored } = await write(complete, [entry], async ([one = entry]) => [
        await store.put(one),
      ]);
      return { id: stored[0]?.id ?? "", isEmbedded: written[0]?.embedding != null };
    },
    search,
    get: (ids) => store.get(ids),
    list: (filter, page) => store.list(filter, page),
    recordUses: (uses) => store.recordUses(uses),
    consolidate: (of) => consolidateMemory(of, { store, embeddings, clock, search }),
    reembed: async (of = {}) =>
      embeddings === null ? 0 : reembedMemory(of, { store, embeddings }),
    async forget(filter) {
      const counts = await store.forget(filter);
      index.forget(filter);
      return counts;
    },
    sweep: () => store.sweep(),
  };
}

/** Stores entries; without the vectors that were made for them if the store has others of their model. */
async function write<Entry extends NewMemoryEntry, Stored>(
  complete: readonly Entry[],
  given: readonly Entry[],
  store: (entries: readonly Entry[]) => Promise<readonly Stored[]>,
): Promise<{ readonly written: readonly Entry[]; readonly stored: readonly Stored[] }> {
  try {
    return { written: complete, stored: await store(complete) };
  } catch (thrown) {
    if (!(thrown instanceof MemoryDimensionError)) throw thrown;
    const plain = complete.map((entry, at) => ({
      ...entry,
      embedding: given[at]?.embedding ?? null,
    }));
    return { written: plain, stored: await store(plain) };
  }
}

/**
 * Checks what the embeddings are sent. The store checks all of an entry.
 *
 * @throws InvalidMemoryError
 */
function checkContent({ content }: NewMemoryEntry, at: number): void {
  const result = newMemoryEntrySchema.shape.content.safeParse(content);
  if (result.success) return;
  const problems = result.error.issues.map(({ message }) => `${at}.content: ${message}`);
  throw new InvalidMemoryError("entry", problems);
}
