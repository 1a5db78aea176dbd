import { deadline } from "../async.ts";
import type { Clock } from "../clock.ts";
import { EmbeddingError, type Embeddings } from "../models/embeddings/embeddings.ts";
import { checkVector } from "./check-entry.ts";
import type { MemoryVector } from "./entry.ts";

/** Texts of one call of the embeddings. What earlier calls gave is kept if a later one fails. */
const batch = 16;

export interface EmbedOptions {
  readonly embeddings: Embeddings;
  readonly clock: Clock;
  /** Milliseconds for all texts together. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Returns the vector of each text, null for those that got none: the embeddings failed, took too long or gave something
 * else. A failure is no reason to lose an entry, since search finds it by its words.
 *
 * @throws the signal's reason
 */
export async function tryEmbed(
  texts: readonly string[],
  { embeddings, clock, timeoutMs, signal }: EmbedOptions,
): Promise<readonly (MemoryVector | null)[]> {
  const vectors: (MemoryVector | null)[] = [];
  const limit = deadline({
    clock,
    outer: [signal],
    remainingMs: timeoutMs,
    timeUp: () => new EmbeddingError(`The embeddings took over ${timeoutMs} ms.`, embeddings.id),
  });
  try {
    for (let from = 0; from < texts.length; from += batch) {
      const part = texts.slice(from, from + batch);
      const embedded = embedTexts(part, embeddings, limit.signal);
      vectors.push(...(await limit.race(embedded)));
    }
  } catch {
    signal?.throwIfAborted();
  } finally {
    limit.release();
  }
  return texts.map((_, at) => vectors[at] ?? null);
}

/**
 * Returns the vector of each text, of length 1; null for texts without a word, and for vectors of other dimensions or with
 * something else than numbers.
 *
 * @throws EmbeddingError, or what the embeddings throw
 */
export async function embedTexts(
  texts: readonly string[],
  embeddings: Embeddings,
  signal?: AbortSignal,
): Promise<readonly (MemoryVector | null)[]> {
  const sent = texts.filter(hasWords);
  const vectors = sent.length === 0 ? [] : await embeddings.embed(sent, signal && { signal });
  if (vectors.length !== sent.length) {
    const problem = `gave ${vectors.length} vectors for ${sent.length} texts`;
    throw new EmbeddingError(`The embeddings "${embeddings.id}" ${problem}.`, embeddings.id);
  }
  const found = vectors.values();
  return texts.map((text) => {
    const vector = hasWords(text) ? found.next().value : undefined;
    return vector && isUsable(vector, embeddings)
      ? checkVector({ model: embeddings.id, vector })
      : null;
  });
}

/** Whether a text has a letter or a digit: without one there is nothing to compare. */
export function hasWords(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text);
}

/** Embeddings of 0 dimensions do not know them yet. A vector of length 0 has no direction to compare. */
function isUsable(vector: Float32Array, { dimensions }: Embeddings): boolean {
  const isLong = dimensions === 0 ? vector.length > 0 : vector.length === dimensions;
  return isLong && vector.every(Number.isFinite) && vector.some((part) => part !== 0);
}
