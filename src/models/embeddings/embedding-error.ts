import { StratagraphError } from "../../errors.ts";

/** Texts could not be turned into vectors: the service did not answer, or not with one good vector a text. */
export class EmbeddingError extends StratagraphError {
  readonly code = "embedding";
  override readonly kind = "run";
  override readonly transient = true;

  constructor(
    message: string,
    /** The `id` of the embeddings. */
    readonly embeddings: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}
