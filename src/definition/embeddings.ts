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
