import { addRow, commonPart, removeAlong, type CommonPart } from "./common-part.ts";
import { allWords, contentWords } from "./content-words.ts";
import type { Embeddings } from "./embeddings.ts";
import { Vocabulary } from "./vocabulary.ts";
import { addWordHash, hashDimensions } from "./word-hash.ts";
import { wordRoot } from "./word-root.ts";
import {
  readWordVectors,
  wordDimensions,
  wordVectorsId,
  type WordVectors,
} from "./word-vectors.ts";

const dimensions = wordDimensions + hashDimensions;

/** Words as frequent as this count half. */
const halfWeight = 1e-3;

/** Shares of words in English by rank, after Zipf's law as Mandelbrot mended it: 1 / ((rank + 2.7) x this). */
const zipfSum = 12.1;

/** What a number counts beside a rare word: it is seldom what a text is about. */
const numberWeight = 0.3;

/** How much it counts which word it is, beside what it means. */
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
