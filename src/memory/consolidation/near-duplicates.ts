import { type Embeddings, similarity } from "../../models/embeddings/embeddings.ts";
import { stemsOf, wordsOf } from "../../models/words.ts";
import { memoryTypes } from "../entry.ts";
import type { Memory } from "../memory.ts";
import type { MemoryStore } from "../store.ts";
import { embedTexts, hasWords } from "../vectors.ts";

/** The similarity from which two entries are one. */
const sameFrom = 0.95;

/** Long-term entries that a search looks at: the most similar ones may have other figures. */
const looked = 5;

/** Characters from which a vector may be that of the beginning alone: encoders read 256 tokens or so. */
const longText = 1_000;

/** The share of a long text's words that the other text has. */
const sharedWords = 0.9;

const longTerm = memoryTypes.filter((type) => type !== "short_term");

/** Texts in a form that is compared: vectors, or words. */
interface Reading<Print> {
  /** One for each text; undefined for one that could not be read. @throws EmbeddingError */
  read(texts: readonly string[], signal?: AbortSignal): Promise<readonly (Print | undefined)[]>;
  /** From 0 (or -1) to 1. */
  compare(a: Print, b: Print): number;
  /** Long-term entries of the namespace at least as similar as {@link sameFrom}, best first; one search. */
  find(print: Print, text: string, signal?: AbortSignal): Promise<readonly string[]>;
}

/** A text that was read, to be compared. */
export interface ReadText {
  readonly text: string;
  /** Null where texts are compared by words, and for a text without any. */
  readonly vector: Float32Array | null;
  /** Whether the texts are near-duplicates, so that nothing is lost when this one is dropped for the other. */
  isSameAs(other: ReadText): boolean;
  /** Ids of long-term entries as similar as that, best first; one search. Check the texts with {@link isCovered}. */
  findSimilar(signal?: AbortSignal): Promise<readonly string[]>;
}

/** Reads texts to find their near-duplicates in a namespace; null for one that could not be read. @throws EmbeddingError */
export type ReadTexts = (
  texts: readonly string[],
  signal?: AbortSignal,
) => Promise<readonly (ReadText | null)[]>;

export interface NearDuplicatesOptions {
  readonly store: MemoryStore;
  readonly search: Memory["search"];
  /** Null: texts are compared by words. */
  readonly embeddings: Embeddings | null;
  readonly namespace: readonly string[];
}

/** Compares by cosine where there are embeddings, else by words. */
export function createReadTexts(options: NearDuplicatesOptions): ReadTexts {
  const { embeddings } = options;
  return embeddings === null
    ? readTextsWith(byWords(options), () => null)
    : readTextsWith(byVector(embeddings, options), (vector) => vector);
}

function readTextsWith<Print>(
  reading: Reading<Print>,
  vectorOf: (print: Print) => Float32Array | null,
): ReadTexts {
  const prints = new WeakMap<ReadText, Print>();
  return async (texts, signal) => {
    const read = await reading.read(texts, signal);
    return read.map((print, at) => {
      if (print === undefined) return null;
      const text = texts[at] ?? "";
      const one: ReadText = {
        text,
        vector: vectorOf(print),
        isSameAs(other) {
          const theirs = prints.get(other);
          return (
            theirs !== undefined &&
            reading.compare(print, theirs) >= sameFrom &&
            isCovered(text, other.text)
          );
        },
        findSimilar: (stop) => reading.find(print, text, stop),
      };
      prints.set(one, print);
      return one;
    });
  };
}

/** A text without words has no vector, and no near-duplicates. */
function byVector(
  embeddings: Embeddings,
  { store, namespace }: NearDuplicatesOptions,
): Reading<Float32Array | null> {
  const filter = { namespace, exact: true, types: longTerm };
  return {
    async read(texts, signal) {
      const vectors = await embedTexts(texts, embeddings, signal);
      return texts.map((text, at) => vectors[at]?.vector ?? (hasWords(text) ? undefined : null));
    },
    compare: (a, b) => (a?.length === b?.length && a && b ? similarity(a, b) : 0),
    async find(vector) {
      if (vector === null) return [];
      const nearest = await store.nearest(filter, { model: embeddings.id, vector }, looked);
      return nearest.filter((one) => one.similarity >= sameFrom).map(({ id }) => id);
    },
  };
}

/** Without vectors only texts that are nearly the same word for word are near-duplicates. */
function byWords({ search, namespace }: NearDuplicatesOptions): Reading<ReadonlySet<string>> {
  const compare = wordSimilarity;
  return {
    read: async (texts) => texts.map(wordsAndPairs),
    compare,
    async find(words, text, signal) {
      const hits = await search({
        namespace,
        exact: true,
        types: longTerm,
        text,
        topK: looked,
        signal,
      });
      return hits
        .map(({ entry }) => ({
          id: entry.id,
          similarity: compare(words, wordsAndPairs(entry.content)),
        }))
        .filter((one) => one.similarity >= sameFrom)
        .toSorted((a, b) => b.similarity - a.similarity)
        .map(({ id }) => id);
    },
  };
}

/** The words of a text and its pairs of adjacent words: "Ann paid Bob" is not "Bob paid Ann". */
function wordsAndPairs(text: string): ReadonlySet<string> {
  const words = wordsOf(text);
  return new Set([...words, ...words.slice(1).map((word, at) => `${words[at] ?? ""} ${word}`)]);
}

/**
 * The Jaccard index of words and pairs. At 0.95, texts of fewer than sixty words are the same but for case and
 * punctuation: stricter than the cosine of an encoder at 0.95, which passes "likes" for "loves". Texts without words are
 * not similar.
 */
function wordSimilarity(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const [small, large] = a.size < b.size ? [a, b] : [b, a];
  if (small.size < sameFrom * large.size || large.size === 0) return 0;
  let shared = 0;
  for (const one of small) if (large.has(one)) shared += 1;
  return shared / (a.size + b.size - shared);
}

/**
 * Whether a text can be dropped for a similar one. Vectors hardly tell figures apart: "order 1234 was refunded" and "order
 * 1235 was refunded" have a cosine of 0.97. So the other text needs every word with a digit, and most words of a
 * long text, whose end encoders may not have read.
 */
export function isCovered(text: string, by: string): boolean {
  const figures = new Set(figuresOf(by));
  if (!figuresOf(text).every((figure) => figures.has(figure))) return false;
  if (text.length <= longText) return true;
  const own = [...stemsOf(text)];
  const other = stemsOf(by);
  return own.filter((stem) => other.has(stem)).length >= sharedWords * own.length;
}

/** `1,234`, `E1042`, `2026-11-22` and `A-77` as they stand, in lower case. */
function figuresOf(text: string): readonly string[] {
  return (text.toLowerCase().match(/[\p{L}\p{N}]+(?:[-.,:/][\p{L}\p{N}]+)*/gu) ?? []).filter(
    (word) => /\p{N}/u.test(word),
  );
}
