import { grown } from "./postings.ts";

/** An entry and the cosine of its vector, -1 to 1. */
export interface NearEntry {
  readonly entry: number;
  readonly similarity: number;
}

/** With more rows, only those whose signs are nearest to the signs of the vector are compared. */
const exactRows = 5_000;
/** Rows that are compared then, for each that is wanted. */
const oversampling = 20;

/**
 * Vectors of one model, a byte for each number, for stores without a vector index. A large table is searched in two
 * steps: by the signs of all vectors (binary quantization), then by the bytes of the nearest of them.
 */
export class VectorTable {
  #dimensions = 0;
  #rows = 0;
  #values = new Int8Array(0);
  /** A bit for each number: whether it is negative. */
  #signs = new Uint32Array(0);
  #scales = new Float32Array(0);
  #entryOf = new Int32Array(0);

  get bytes(): number {
    const { byteLength } = this.#signs;
    return (
      byteLength + this.#values.byteLength + this.#scales.byteLength + this.#entryOf.byteLength
    );
  }

  /** Adds the vector of an entry. One of other dimensions than the first is left out. */
  add(entry: number, vector: Float32Array): void {
    if (this.#rows === 0) this.#dimensions = vector.length;
    if (vector.length !== this.#dimensions) return;
    const row = this.#rows;
    this.#rows += 1;
    this.#values = grown(this.#values, this.#rows * this.#dimensions);
    this.#scales = grown(this.#scales, this.#rows);
    this.#entryOf = grown(this.#entryOf, this.#rows);
    let largest = 0;
    for (const value of vector) largest = Math.max(largest, Math.abs(value));
    const scale = largest / 127 || 1;
    for (const [at, value] of vector.entries()) {
      this.#values[row * this.#dimensions + at] = Math.round(value / scale);
    }
    this.#scales[row] = scale;
    this.#entryOf[row] = entry;
    const words = signsOf(vector);
    this.#signs = grown(this.#signs, this.#rows * words.length);
    this.#signs.set(words, row * words.length);
  }

  /**
   * Returns the entries whose vectors are nearest, best first. The cosines are exact to about 0.01. Of more than 5,000
   * vectors, some of the farther ones may be missed.
   */
  nearest(
    vector: Float32Array,
    limit: number,
    isWanted: (entry: number) => boolean,
  ): readonly NearEntry[] {
    const dimensions = this.#dimensions;
    if (vector.length !== dimensions) return [];
    const rows =
      this.#rows > exactRows ? this.#nearestSigns(vector, limit * oversampling, isWanted) : null;
    const count = rows?.length ?? this.#rows;
    const values = this.#values;
    const found: NearEntry[] = [];
    let least = Number.NEGATIVE_INFINITY;
    for (let index = 0; index < count; index += 1) {
      const row = rows === null ? index : (rows[index] ?? 0);
      let sum = 0;
      const from = row * dimensions;
      for (let at = 0; at < dimensions; at += 1) sum += values[from + at]! * vector[at]!;
      const similarity = sum * (this.#scales[row] ?? 0);
      if (found.length >= limit && similarity <= least) continue;
      const entry = this.#entryOf[row] ?? 0;
      if (!isWanted(entry)) continue;
      insert(found, { entry, similarity });
      if (found.length > limit) found.pop();
      least = found.at(-1)?.similarity ?? least;
    }
    return found;
  }

  /** Returns at least `limit` wanted rows whose signs differ least from those of a vector, or all that are wanted. */
  #nearestSigns(
    vector: Float32Array,
    limit: number,
    isWanted: (entry: number) => boolean,
  ): readonly number[] {
    const wanted = signsOf(vector);
    const { length } = wanted;
    const signs = this.#signs;
    const distances = new Uint16Array(this.#rows);
    const counts = new Uint32Array(32 * length + 1);
    for (let row = 0; row < this.#rows; row += 1) {
      if (!isWanted(this.#entryOf[row] ?? 0)) {
        distances[row] = 65_535;
        continue;
      }
      let distance = 0;
      const from = row * length;
      for (let at = 0; at < length; at += 1) distance += bitCount(signs[from + at]! ^ wanted[at]!);
      distances[row] = distance;
      counts[distance] = (counts[distance] ?? 0) + 1;
    }
    let most = 0;
    for (let seen = counts[0] ?? 0; seen < limit && most < 32 * length;) {
      most += 1;
      seen += counts[most] ?? 0;
    }
    const rows: number[] = [];
    for (let row = 0; row < this.#rows; row += 1) if (distances[row]! <= most) rows.push(row);
    return rows;
  }
}

/** The signs of a vector, 32 to a number. */
function signsOf(vector: Float32Array): Uint32Array {
  const words = new Uint32Array(Math.ceil(vector.length / 32));
  for (const [at, value] of vector.entries()) {
    if (value < 0) words[at >>> 5] = (words[at >>> 5] ?? 0) | (1 << (at & 31));
  }
  return words;
}

/** The number of bits that are 1, counted in parallel (Anderson, Bit Twiddling Hacks). */
function bitCount(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555);
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333);
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/** Inserts in descending order, after equals. */
function insert(sorted: NearEntry[], one: NearEntry): void {
  let from = 0;
  let to = sorted.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((sorted[middle]?.similarity ?? 0) >= one.similarity) from = middle + 1;
    else to = middle;
  }
  sorted.splice(from, 0, one);
}
