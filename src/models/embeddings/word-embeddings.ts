import { allWords, contentWords, wordRoot } from "../words.ts";
import type { Embeddings } from "./embeddings.ts";
import {
  addWordHash,
  hashDimensions,
  readWordVectors,
  Vocabulary,
  wordDimensions,
  type WordVectors,
  wordVectorsId,
} from "./word-vectors.ts";

const dimensions = wordDimensions + hashDimensions;

/** Words as frequent as this count half. */
const halfWeight = 1e-3;

/** Shares of words in English by rank, after Zipf's law as Mandelbrot mended it: 1 / ((rank + 2.7) x this). */
const zipfSum = 12.1;

/** Weight of a number relative to a rare word: it is rarely the subject of a text. */
const numberWeight = 0.3;

/** Weight of a word's identity relative to its meaning. */
const identityShare = 1.15;

interface Model {
  readonly vectors: WordVectors;
  readonly vocabulary: Vocabulary;
  readonly common: CommonPart;
}

interface WordReading {
  /** Its row among the vectors, which is its rank by frequency; undefined for a word without. */
  readonly row: number | undefined;
  readonly root: string;
  readonly weight: number;
}

/** How words were read, since texts use the same ones again and again. */
const readings = new Map<string, readonly WordReading[]>();
const maxReadings = 20_000;

/** Read and prepared once a process, some 0.3 s, when a text is first embedded. */
let model: Promise<Model> | undefined;

/**
 * The embedded default: needs no network, no key and no other package. A text is the weighted sum of its words, rare
 * ones counting more (smooth inverse frequency: Arora, Liang and Ma 2017), without what all words share. The first 100
 * numbers are what the words mean (GloVe), the other 256 which words they are, so that names and words that no
 * vocabulary has are still found again. Word order and negation are lost; it is made for short English texts.
 *
 * @example similarity(...(await createWordEmbeddings().embed(["buy a car", "purchase vehicles"])))
 */
export function createWordEmbeddings(): Embeddings {
  return {
    id: `words:${wordVectorsId}+hash-${hashDimensions}:1`,
    dimensions,
    async embed(texts, { signal } = {}) {
      signal?.throwIfAborted();
      if (texts.length === 0) return [];
      model ??= load();
      const loaded = await model;
      signal?.throwIfAborted();
      return texts.map((text) => embed(text, loaded));
    },
  };
}

async function load(): Promise<Model> {
  try {
    const vectors = await readWordVectors();
    return { vectors, vocabulary: new Vocabulary(vectors.rows), common: commonPart(vectors) };
  } catch (thrown) {
    model = undefined;
    throw thrown;
  }
}

function embed(text: string, { vectors, vocabulary, common }: Model): Float32Array {
  const sum = new Float64Array(dimensions);
  let known = 0;
  for (const { row, root, weight } of readWords(text, vocabulary)) {
    if (row !== undefined) {
      known += weight;
      addRow(sum, vectors, row, weight);
    }
    addWordHash(sum, wordDimensions, root, weight * identityShare * common.restLength);
  }
  for (const [at, value] of common.mean.entries()) sum[at] = (sum[at] ?? 0) - known * value;
  for (const direction of common.directions) removeAlong(sum, direction);
  return unit(sum);
}

/** Where all words of a text are ones that carry no meaning, they are all there is to compare. */
function readWords(text: string, vocabulary: Vocabulary): WordReading[] {
  const content = contentWords(text);
  return (content.length > 0 ? content : allWords(text)).flatMap((word) => {
    const kept = readings.get(word);
    if (kept !== undefined) return kept;
    const reading = readWord(word, vocabulary);
    if (readings.size >= maxReadings) readings.clear();
    readings.set(word, reading);
    return reading;
  });
}

/** The word itself and, where it is not known, the words it is joined of. */
function readWord(word: string, vocabulary: Vocabulary): readonly WordReading[] {
  const words = vocabulary.rowOf(word) === undefined ? [word, ...vocabulary.partsOf(word)] : [word];
  return words.map((one) => {
    const row = vocabulary.rowOf(one);
    return { row, root: wordRoot(one), weight: weightOf(one, row) };
  });
}

/** From 0 to 1. */
function weightOf(word: string, rank: number | undefined): number {
  if (rank === undefined) return /^\p{N}/u.test(word) ? numberWeight : 1;
  return halfWeight / (halfWeight + 1 / ((rank + 2.7) * zipfSum));
}

function unit(vector: Float64Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const length = Math.sqrt(squares);
  return Float32Array.from(vector, (value) => (length > 0 ? value / length : 0));
}

/** What nearly all word vectors share, which says nothing about what a word means. */
interface CommonPart {
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
function commonPart(vectors: WordVectors): CommonPart {
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
function addRow(sum: Float64Array, vectors: WordVectors, row: number, weight: number): void {
  const { values, scales } = vectors;
  const scale = weight * (scales[row] ?? 0);
  const from = row * wordDimensions;
  for (let at = 0; at < wordDimensions; at += 1) {
    sum[at] = (sum[at] ?? 0) + scale * (values[from + at] ?? 0);
  }
}

/** Takes from `vector`, in place, what it has of a direction. */
function removeAlong(vector: Float64Array, direction: Float64Array): void {
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
