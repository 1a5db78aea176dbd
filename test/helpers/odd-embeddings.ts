import type { Embeddings } from "../../src/models/embeddings/embeddings.ts";

/** Embeddings that do as texts say, and the texts of each call. */
export interface OddEmbeddings extends Embeddings {
  readonly calls: (readonly string[])[];
}

/**
 * Embeddings of two dimensions: the vector of a text points to its length. A text with one of these words is special:
 * `nan`, `zero`, `long` (a vector of three numbers), `fail` (throws), `few` (one vector less), `hang` (no answer).
 */
export function oddEmbeddings(id = "odd:1", isDown: () => boolean = () => false): OddEmbeddings {
  const calls: (readonly string[])[] = [];
  return {
    id,
    dimensions: 2,
    calls,
    async embed(texts) {
      calls.push(texts);
      if (isDown()) throw new Error("down");
      const has = (word: string) => texts.some((text) => text.includes(word));
      if (has("fail")) throw new Error("a text failed");
      if (has("hang")) await new Promise(() => undefined);
      const vectors = texts.map(vectorOf);
      return has("few") ? vectors.slice(1) : vectors;
    },
  };
}

function vectorOf(text: string): Float32Array {
  if (text.includes("nan")) return Float32Array.of(1, Number.NaN);
  if (text.includes("zero")) return Float32Array.of(0, 0);
  if (text.includes("long")) return Float32Array.of(1, 0, 0);
  return Float32Array.of(Math.cos(text.length), Math.sin(text.length));
}
