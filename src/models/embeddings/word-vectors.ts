import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { wordRoot } from "../words.ts";
import { EmbeddingError } from "./embeddings.ts";

/** Which vectors they are, for ids. */
export const wordVectorsId = "glove-40k-100d";

/** Numbers of a word's vector. */
export const wordDimensions = 100;

/** Vectors of English words, the most frequent word first. */
export interface WordVectors {
  /** The row of each word, which is also its rank by frequency, from 0. */
  readonly rows: ReadonlyMap<string, number>;
  /** Row by row; to be multiplied by the row's scale. */
  readonly values: Int8Array;
  readonly scales: Float32Array;
}

const file = new URL("./glove-40k-100d-int8.bin.gz", import.meta.url);

/**
 * Reads the embedded vectors: the 40,000 most frequent words of GloVe 6B (Pennington, Socher and Manning 2014, public
 * domain), a byte for each number. The file is gzip of the words joined by line breaks, a zero byte, the numbers as
 * int8, and a little-endian float32 a word to scale them.
 * @throws EmbeddingError where the file is not there or not whole
 */
export async function readWordVectors(): Promise<WordVectors> {
  try {
    return parse(await promisify(gunzip)(await readFile(file)));
  } catch (thrown) {
    throw new EmbeddingError(
      "The embedded word vectors cannot be read. Install the package again, or pass other embeddings.",
      wordVectorsId,
      { cause: thrown },
    );
  }
}

function parse(bytes: Buffer): WordVectors {
  const end = bytes.indexOf(0);
  const rows = new Map(
    bytes
      .toString("utf8", 0, end)
      .split("\n")
      .map((word, row) => [word, row]),
  );
  const from = end + 1;
  const numbers = rows.size * wordDimensions;
  const values = new Int8Array(bytes.subarray(from, from + numbers));
  const scales = Float32Array.from({ length: rows.size }, (_, row) =>
    bytes.readFloatLE(from + numbers + 4 * row),
  );
  return { rows, values, scales };
}

/** Letters of a word that is looked at as a compound, and of its parts. */
const shortestCompound = 7;
const longestCompound = 40;
const shortestPart = 3;
const longestPart = 14;
const mostParts = 3;

/** Parts are common words: rare ones are found in nearly any letters. */
const partRanks = 20_000;

/** A part costs the logarithm of its rank; a mean above this is more likely chance than a compound. */
const mostCostPerPart = 8.5;

/** Finds words in a list ordered by frequency. */
export class Vocabulary {
  readonly #rows: ReadonlyMap<string, number>;
  readonly #byRoot = new Map<string, number>();

  constructor(rows: ReadonlyMap<string, number>) {
    this.#rows = rows;
    for (const [word, row] of rows) {
      const root = wordRoot(word);
      if (!this.#byRoot.has(root)) this.#byRoot.set(root, row);
    }
  }

  /** The row of a word, else that of the most frequent word of its root. */
  rowOf(word: string): number | undefined {
    return this.#rows.get(word) ?? this.#byRoot.get(wordRoot(word));
  }

  /**
   * The words that a word which is not known is joined of, none where it seems not to be: `airquality` is `air` and
   * `quality`. Of all partings into two or three words the one whose words are, taken together, most frequent.
   */
  partsOf(word: string): readonly string[] {
    if (word.length < shortestCompound || word.length > longestCompound) return [];
    const best: ({ readonly cost: number; readonly parts: readonly string[] } | undefined)[] = [
      { cost: 0, parts: [] },
    ];
    for (let end = shortestPart; end <= word.length; end += 1) {
      for (let start = Math.max(0, end - longestPart); start <= end - shortestPart; start += 1) {
        const before = best[start];
        const part = word.slice(start, end);
        const row = this.#rows.get(part);
        if (before === undefined || row === undefined || row >= partRanks) continue;
        const cost = before.cost + Math.log(row + 3);
        if (cost < (best[end]?.cost ?? Infinity))
          best[end] = { cost, parts: [...before.parts, part] };
      }
    }
    const { cost, parts } = best[word.length] ?? { cost: 0, parts: [] };
    return parts.length <= mostParts && cost <= mostCostPerPart * parts.length ? parts : [];
  }
}

/** Numbers of a hashed word. */
export const hashDimensions = 256;

/**
 * Adds a direction that is a word's own, `weight` long, to `sum` in place, from index `from` on: random signs, drawn
 * from the word's hash. Two words are nearly at right angles (cosine 0 ± 0.06), so a sum of them keeps which words it
 * was made of, known ones or not (random indexing: Kanerva, Kristofersson and Holst 2000).
 */
export function addWordHash(sum: Float64Array, from: number, word: string, weight: number): void {
  const step = weight / Math.sqrt(hashDimensions);
  let bits = hashOf(word);
  for (let at = 0; at < hashDimensions; at += 1) {
    // xorshift32 (Marsaglia 2003), a number a sign: its high bits are the good ones.
    bits ^= bits << 13;
    bits ^= bits >>> 17;
    bits ^= bits << 5;
    sum[from + at] = (sum[from + at] ?? 0) + (bits < 0 ? -step : step);
  }
}

/** FNV-1a with a final mix, since words that differ at their end alone would begin alike; never 0. */
function hashOf(word: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < word.length; at += 1) {
    hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return hash ^ (hash >>> 16) || 1;
}
