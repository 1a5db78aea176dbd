/** How much of one term counts at most: repeating a word does not make an entry a better match. */
const maxCount = 4;
/** Bits of a posting that hold the count less one. */
const countBits = 2;
const firstBlock = 4;
const largestBlock = 1_024;

/**
 * Which entries have a term, and how often. A term's postings are blocks of one array, each with the position of the next
 * in its first place, so that a rare term takes few bytes and a common one is read in runs.
 */
export class Postings {
  readonly #terms = new Map<string, number>();
  #blocks = new Uint32Array(4_096);
  /** The next free place; 0 means none, so that the first block begins at 1. */
  #end = 1;
  #first = new Uint32Array(256);
  #last = new Uint32Array(256);
  /** Places taken in the last block, and its size, both without the link. */
  #filled = new Uint16Array(256);
  #size = new Uint16Array(256);
  #count = new Uint32Array(256);
  #termCharacters = 0;

  /** Estimated. */
  get bytes(): number {
    const { byteLength } = this.#blocks;
    const lists = 16 * this.#first.length;
    return byteLength + lists + 100 * this.#terms.size + 2 * this.#termCharacters;
  }

  /** The number of a term; undefined if no entry has had it. */
  idOf(term: string): number | undefined {
    return this.#terms.get(term);
  }

  /** Entries that were added with the term, those that are gone included. */
  countOf(id: number): number {
    return this.#count[id] ?? 0;
  }

  /**
   * Adds an entry. `terms` are all of its terms, as often as they occur.
   *
   * @returns the numbers of the terms, in their order
   */
  add(entry: number, terms: readonly string[]): number[] {
    const ids = terms.map((term) => this.#listOf(term));
    const counts = new Map<number, number>();
    for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
    for (const [id, count] of counts) {
      this.#append(id, ((entry << countBits) | (Math.min(count, maxCount) - 1)) >>> 0);
      this.#count[id] = (this.#count[id] ?? 0) + 1;
    }
    return ids;
  }

  /** Calls `visit` for each entry with the term of a number, in the order they were added. */
  forEach(id: number | undefined, visit: (entry: number, count: number) => void): void {
    if (id === undefined) return;
    const last = this.#last[id] ?? 0;
    let size = firstBlock;
    for (let block = this.#first[id] ?? 0; block !== 0; block = this.#blocks[block] ?? 0) {
      const end = block + (block === last ? (this.#filled[id] ?? 0) : size);
      for (let at = block + 1; at <= end; at += 1) {
        const posting = this.#blocks[at] ?? 0;
        visit(posting >>> countBits, (posting & (maxCount - 1)) + 1);
      }
      size = Math.min(2 * size, largestBlock);
    }
  }

  #listOf(term: string): number {
    const known = this.#terms.get(term);
    if (known !== undefined) return known;
    const list = this.#terms.size;
    this.#terms.set(term, list);
    this.#termCharacters += term.length;
    if (list >= this.#first.length) {
      this.#first = grown(this.#first, list + 1);
      this.#last = grown(this.#last, list + 1);
      this.#filled = grown(this.#filled, list + 1);
      this.#size = grown(this.#size, list + 1);
      this.#count = grown(this.#count, list + 1);
    }
    const block = this.#allocate(firstBlock);
    this.#first[list] = block;
    this.#last[list] = block;
    this.#size[list] = firstBlock;
    return list;
  }

  #append(list: number, posting: number): void {
    let filled = this.#filled[list] ?? 0;
    const size = this.#size[list] ?? 0;
    if (filled === size) {
      const next = Math.min(2 * size, largestBlock);
      const block = this.#allocate(next);
      this.#blocks[this.#last[list] ?? 0] = block;
      this.#last[list] = block;
      this.#size[list] = next;
      filled = 0;
    }
    this.#blocks[(this.#last[list] ?? 0) + 1 + filled] = posting;
    this.#filled[list] = filled + 1;
  }

  #allocate(size: number): number {
    const block = this.#end;
    this.#end += size + 1;
    this.#blocks = grown(this.#blocks, this.#end);
    return block;
  }
}

type Numbers =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array;

/** Returns the array, or a copy of at least twice its size where it has less than `length` places. */
export function grown<T extends Numbers>(array: T, length: number): T {
  if (length <= array.length) return array;
  const copy = new (array.constructor as new (length: number) => T)(
    Math.max(length, 2 * array.length),
  );
  copy.set(array);
  return copy;
}
