export type { Embeddings } from "../../definition/embeddings.ts";

/** Cosine of the angle between two vectors of length 1 (or 0), from -1 to 1. */
export function similarity(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < a.length; index += 1) sum += (a[index] ?? 0) * (b[index] ?? 0);
  return sum;
}
