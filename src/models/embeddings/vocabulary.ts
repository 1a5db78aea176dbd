import { wordRoot } from "./word-root.ts";

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
