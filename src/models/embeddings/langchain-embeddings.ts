import { abortable } from "../../async.ts";
import { errorMessage } from "../../errors.ts";
import { EmbeddingError, type Embeddings } from "./embeddings.ts";

/** What is used of LangChain's `Embeddings`. */
export interface LangChainEmbeddings {
  embedDocuments(texts: string[]): Promise<number[][]>;
}

export interface LangChainEmbeddingsOptions {
  /** Names the model and its version: vectors of one id can be compared. */
  readonly id: string;
  /** Numbers of a vector. */
  readonly dimensions: number;
}

/**
 * Any embeddings of LangChain. Vectors are brought to length 1; empty texts, which services refuse, are of length 0 and
 * not sent. LangChain's embeddings cannot be aborted: with a signal only the waiting ends.
 *
 * @example fromLangChainEmbeddings(new OpenAIEmbeddings(), { id: "openai:text-embedding-3-small", dimensions: 1536 })
 */
export function fromLangChainEmbeddings(
  model: LangChainEmbeddings,
  { id, dimensions }: LangChainEmbeddingsOptions,
): Embeddings {
  const ask = async (texts: string[], signal?: AbortSignal): Promise<number[][]> => {
    try {
      return await abortable(model.embedDocuments(texts), signal);
    } catch (thrown) {
      signal?.throwIfAborted();
      if (thrown instanceof EmbeddingError) throw thrown;
      const message = `The embeddings "${id}" did not answer: ${errorMessage(thrown)}`;
      throw new EmbeddingError(message, id, { cause: thrown });
    }
  };

  return {
    id,
    dimensions,
    async embed(texts, { signal } = {}) {
      signal?.throwIfAborted();
      const sent = texts.filter((text) => text.trim() !== "");
      const answers = sent.length === 0 ? [] : await ask(sent, signal);
      const problem = problemOf(answers, sent.length, dimensions);
      if (problem !== null) {
        throw new EmbeddingError(`The embeddings "${id}" answered with ${problem}.`, id);
      }
      const vectors = answers.values();
      return texts.map((text) =>
        text.trim() === "" ? new Float32Array(dimensions) : unit(vectors.next().value ?? []),
      );
    },
  };
}

function problemOf(answers: unknown, count: number, dimensions: number): string | null {
  if (!Array.isArray(answers)) return "something that is no list";
  if (answers.length !== count) {
    return `${answers.length.toLocaleString("en")} vectors for ${count.toLocaleString("en")} texts`;
  }
  for (const vector of answers as unknown[]) {
    if (!Array.isArray(vector)) return "something that is no vector";
    if (vector.length !== dimensions) {
      return `vectors of ${vector.length.toLocaleString("en")} numbers where ${dimensions.toLocaleString("en")} were expected: set dimensions to what the model gives`;
    }
    if (!vector.every(Number.isFinite)) return "a vector that has something else than numbers";
  }
  return null;
}

function unit(vector: readonly number[]): Float32Array {
  const length = Math.hypot(...vector);
  return Float32Array.from(vector, (value) => (length > 0 ? value / length : 0));
}
