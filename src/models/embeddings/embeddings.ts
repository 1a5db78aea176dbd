/** Turns texts into vectors whose cosine says how alike the texts are. */
export interface Embeddings {
  /** Names the model and its version: vectors of one id can be compared. */
  readonly id: string;
  readonly dimensions: number;
  /**
   * One vector for each text, in order, of length 1; of length 0 for a text of which nothing is known.
   * @throws EmbeddingError where a service does not answer
   */
  embed(
    texts: readonly string[],
    options?: { readonly signal?: AbortSignal },
  ): Promise<readonly Float32Array[]>;
}

/** Cosine of the angle between two vectors of length 1 (or 0), from -1 to 1. */
export function similarity(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < a.length; index += 1) sum += (a[index] ?? 0) * (b[index] ?? 0);
  return sum;
}
