import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gunzip } from "node:zlib";
import { EmbeddingError } from "./embedding-error.ts";

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
