import { EmbeddingError, type Embeddings } from "../models/embeddings/embeddings.ts";
import { errorMessage } from "../errors.ts";
import type { MemoryEntry } from "./entry.ts";
import type { Memory } from "./memory.ts";
import type { EntryVector, MemoryFilter, MemoryStore } from "./store.ts";
import { embedTexts, hasWords } from "./vectors.ts";

/** Entries of one page. */
const pageSize = 100;
/** Entries that a store lists at once. */
const maxPage = 1_000;
/** Texts of one call of the embeddings. */
const batch = 16;

type Options = NonNullable<Parameters<Memory["reembed"]>[0]>;

/**
 * Adds the vectors of the current model that entries lack, oldest first, in pages: what an interrupted run has done
 * stays done. Entries that cannot be embedded are skipped and reported; a service that does not answer at all ends the
 * run.
 *
 * @throws EmbeddingError, MemoryDimensionError, or the signal's reason
 */
export async function reembedMemory(
  { filter = {}, signal, onProgress, onSkip }: Options,
  { store, embeddings }: { readonly store: MemoryStore; readonly embeddings: Embeddings },
): Promise<number> {
  /** Entries that this run has tried, created at the time from which on the next page is read. */
  const tried = new Map<string, MemoryEntry>();
  let since: string | undefined;
  let done = 0;
  for (;;) {
    const from: MemoryFilter = since === undefined ? filter : { ...filter, since };
    const limit = Math.min(pageSize + tried.size, maxPage);
    const page = await store.withoutVector(from, embeddings.id, limit);
    const open = page.filter(({ id }) => !tried.has(id));
    const last = open.at(-1);
    if (last === undefined) return done;
    for (let at = 0; at < open.length; at += batch) {
      signal?.throwIfAborted();
      const part = open.slice(at, at + batch);
      const vectors = await embedPart(part, { embeddings, signal });
      await store.setVectors(vectors.filter((one) => "vector" in one));
      for (const entry of part) tried.set(entry.id, entry);
      for (const one of vectors) {
        if ("reason" in one) onSkip?.(one);
        else done += 1;
      }
      onProgress?.(done);
    }
    // Those before are not read again.
    since = later(filter.since, last.created_at);
    for (const [id, { created_at }] of tried) if (created_at < since) tried.delete(id);
  }
}

interface Skipped {
  readonly id: string;
  readonly reason: string;
}

/**
 * Returns the vectors of entries, and why others have none. If a call fails though the service answers, one of its
 * texts is at fault, and is found by halving.
 */
async function embedPart(
  entries: readonly MemoryEntry[],
  {
    embeddings,
    signal,
  }: { readonly embeddings: Embeddings; readonly signal?: AbortSignal | undefined },
): Promise<readonly (EntryVector | Skipped)[]> {
  try {
    const contents = entries.map(({ content }) => content);
    const vectors = await embedTexts(contents, embeddings, signal);
    return entries.map(({ id, content, updated_at: readAt }, at) => {
      const vector = vectors[at];
      if (vector) return { id, readAt, ...vector };
      const reason = hasWords(content) ? "the vector cannot be used" : "it has no words";
      return { id, reason };
    });
  } catch (thrown) {
    signal?.throwIfAborted();
    await probe(embeddings, thrown, signal);
    const [first] = entries;
    if (entries.length === 1 && first) return [{ id: first.id, reason: errorMessage(thrown) }];
    const middle = Math.ceil(entries.length / 2);
    return [
      ...(await embedPart(entries.slice(0, middle), { embeddings, signal })),
      ...(await embedPart(entries.slice(middle), { embeddings, signal })),
    ];
  }
}

/** Throws what a call threw if the embeddings do not even embed a word. */
async function probe(
  embeddings: Embeddings,
  thrown: unknown,
  signal: AbortSignal | undefined,
): Promise<void> {
  const found = await embedTexts(["memory"], embeddings, signal).catch(() => {
    signal?.throwIfAborted();
    return [null];
  });
  if (found[0]) return;
  if (thrown instanceof EmbeddingError) throw thrown;
  const message = `The embeddings "${embeddings.id}" failed: ${errorMessage(thrown)}`;
  throw new EmbeddingError(message, embeddings.id, { cause: thrown });
}

/** The later one of two times. */
function later(one: string | undefined, other: string): string {
  return one === undefined || Date.parse(one) < Date.parse(other) ? other : one;
}
