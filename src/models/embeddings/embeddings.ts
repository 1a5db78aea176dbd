import { abortable } from "../../async.ts";
import { StratagraphError } from "../../errors.ts";
import type { Embeddings } from "../../definition/rail.ts";
export type { Embeddings };

/** Cosine of the angle between two vectors of length 1 (or 0), from -1 to 1. */
export function similarity(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < a.length; index += 1) sum += (a[index] ?? 0) * (b[index] ?? 0);
  return sum;
}

/** Texts could not be turned into vectors: the service did not answer, or not with one good vector a text. */
export class EmbeddingError extends StratagraphError {
  readonly code = "embedding";
  override readonly kind = "run";
  override readonly transient: boolean;

  /** @param options `transient`: default true */
  constructor(
    message: string,
    /** The `id` of the embeddings. */
    readonly embeddings: string,
    options: { cause?: unknown; transient?: boolean } = {},
  ) {
    const { transient = true, ...cause } = options;
    super(message, cause);
    this.transient = transient;
  }
}

export interface CacheOptions {
  /** Texts whose vectors are kept; of more, those that were asked for longest ago are forgotten. Default 10,000. */
  readonly maxTexts?: number;
}

/**
 * Embeddings that remember what they were asked. One text asked for several times at once is one text of one call;
 * failures are not cached. A caller with a signal stops waiting when it aborts; the call, which others may
 * wait for, goes on. Vectors are shared: do not change them.
 *
 * @param options.maxTexts at least 0
 */
export function cachedEmbeddings(
  embeddings: Embeddings,
  { maxTexts = 10_000 }: CacheOptions = {},
): Embeddings {
  // In the order of their last use, since a Map keeps the order of insertion.
  const kept = new Map<string, Promise<Float32Array>>();

  const touch = (text: string, vector: Promise<Float32Array>) => {
    kept.delete(text);
    kept.set(text, vector);
  };

  const call = (texts: readonly string[]): Map<string, Promise<Float32Array>> => {
    const answer = embeddings.embed(texts);
    const vectors = new Map(
      texts.map((text, at) => [
        text,
        answer.then((all) => all[at] ?? new Float32Array(embeddings.dimensions)),
      ]),
    );
    for (const [text, vector] of vectors) {
      vector.catch(() => {
        if (kept.get(text) === vector) kept.delete(text);
      });
    }
    return vectors;
  };

  return {
    id: embeddings.id,
    get dimensions() {
      return embeddings.dimensions;
    },
    async embed(texts, { signal } = {}) {
      signal?.throwIfAborted();
      const missing = [...new Set(texts)].filter((text) => !kept.has(text));
      const called = missing.length > 0 ? call(missing) : new Map<string, Promise<Float32Array>>();
      const vectors = texts.map((text) => {
        const vector = called.get(text) ?? kept.get(text);
        if (vector === undefined) throw new TypeError("a text was neither kept nor asked for");
        touch(text, vector);
        return vector;
      });
      for (const text of kept.keys()) {
        if (kept.size <= maxTexts) break;
        kept.delete(text);
      }
      return abortable(Promise.all(vectors), signal);
    },
  };
}
