import { wordDimensions, type WordVectors } from "./word-vectors.ts";

/** What nearly all word vectors share, which says nothing about what a word means. */
export interface CommonPart {
  readonly mean: Float64Array;
  /** At right angles to each other, each of length 1. */
  readonly directions: readonly Float64Array[];
  /** The mean length of word vectors once the common part is taken away. */
  readonly restLength: number;
}

/** Words that are looked at: the most frequent ones, which come up in texts. */
const sampled = 10_000;
const directionCount = 5;
/** Rounds of the iteration: enough that more of them do not move the cosine of two texts by a thousandth. */
const rounds = 20;

/**
 * The mean of the word vectors and the directions in which they differ most, after "All-but-the-Top" (Mu and Viswanath
 * 2018): those directions follow how frequent words are rather than what they mean. Found by orthogonal iteration on
 * the covariance.
 */
export function commonPart(vectors: WordVectors): CommonPart {
  const count = Math.min(sampled, vectors.rows.size);
  const mean = new Float64Array(wordDimensions);
  for (let row = 0; row < count; row += 1) addRow(mean, vectors, row, 1 / count);
  const centred = Array.from({ length: count }, (_, row) => {
    const vector = mean.map((value) => -value);
    addRow(vector, vectors, row, 1);
    return vector;
  });
  const directions = topDirections(covariance(centred));
  let lengths = 0;
  for (const vector of centred) {
    for (const direction of directions) removeAlong(vector, direction);
    lengths += Math.sqrt(dot(vector, vector));
  }
  return { mean, directions, restLength: lengths / count };
}

/** Adds a word's vector, `weight` times, to `sum` in place. */
export function addRow(sum: Float64Array, vectors: WordVectors, row: number, weight: number): void {
  const { values, scales } = vectors;
  const scale = weight * (scales[row] ?? 0);
  const from = row * wordDimensions;
  for (let at = 0; at < wordDimensions; at += 1) {
    sum[at] = (sum[at] ?? 0) + scale * (values[from + at] ?? 0);
  }
}

/** Takes from `vector`, in place, what it has of a direction. */
export function removeAlong(vector: Float64Array, direction: Float64Array): void {
  const share = dot(vector, direction);
  for (let at = 0; at < direction.length; at += 1) {
    vector[at] = (vector[at] ?? 0) - share * (direction[at] ?? 0);
  }
}

function covariance(vectors: readonly Float64Array[]): Float64Array[] {
  const matrix = Array.from({ length: wordDimensions }, () => new Float64Array(wordDimensions));
  for (const vector of vectors) {
    for (const [at, row] of matrix.entries()) {
      const value = vector[at] ?? 0;
      for (let other = 0; other <= at; other += 1) {
        row[other] = (row[other] ?? 0) + value * (vector[other] ?? 0);
      }
    }
  }
  for (const [at, row] of matrix.entries()) {
    for (let other = at + 1; other < wordDimensions; other += 1)
      row[other] = matrix[other]?.[at] ?? 0;
  }
  return matrix;
}

function topDirections(matrix: readonly Float64Array[]): Float64Array[] {
  // Any start does that is not at right angles to a direction looked for; a fixed one gives the same vectors everywhere.
  let directions = Array.from({ length: directionCount }, (_, which) =>
    Float64Array.from({ length: wordDimensions }, (_value, at) => Math.cos((which + 1) * (at + 1))),
  );
  for (let round = 0; round < rounds; round += 1) {
    const found: Float64Array<ArrayBuffer>[] = [];
    for (const direction of directions) {
      const turned = Float64Array.from(matrix, (row) => dot(row, direction));
      for (const earlier of found) removeAlong(turned, earlier);
      const length = Math.sqrt(dot(turned, turned)) || 1;
      found.push(turned.map((value) => value / length));
    }
    directions = found;
  }
  return directions;
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < b.length; at += 1) sum += (a[at] ?? 0) * (b[at] ?? 0);
  return sum;
}
