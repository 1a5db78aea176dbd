/** Part of a text, in UTF-16 units. */
export interface Window {
  readonly start: number;
  readonly end: number;
}

/** Sentences that follow each other, by their places in the list of all; `last` is one of them. */
export interface Run {
  readonly first: number;
  readonly last: number;
}

/** A sentence without an end is cut here, so that a long line of data is many windows and not one. */
const longestSentence = 300;
/** Neighbouring sentences are read together up to this length: an attack is often spread over some of them. */
const longestRun = 360;
/** A text up to this length is read as a whole as well. */
const longestWhole = 1500;

/**
 * Each sentence, runs of them that overlap by half, and a short text as a whole: each place of the text is in at most four,
 * so that the time of all of them is linear in its length.
 */
export function* runsOf(sentences: readonly Window[]): Generator<Run> {
  for (let at = 0; at < sentences.length; at += 1) yield { first: at, last: at };
  for (let first = 0; first < sentences.length;) {
    const start = sentences[first]?.start ?? 0;
    let last = first;
    while ((sentences[last + 1]?.end ?? Infinity) - start <= longestRun) last += 1;
    if (last > first) yield { first, last };
    if (last === sentences.length - 1) break;
    first = Math.max(first + 1, first + Math.ceil((last - first) / 2));
  }
  const length = (sentences.at(-1)?.end ?? 0) - (sentences[0]?.start ?? 0);
  if (sentences.length > 1 && length > longestRun && length <= longestWhole) {
    yield { first: 0, last: sentences.length - 1 };
  }
}

/** All sentences at once; see {@link eachSentence}. */
export function sentencesOf(text: string): Window[] {
  return [...eachSentence(text)];
}

/** Splits at ends of sentences (those of Chinese and Japanese too) and at line breaks; what has no letter or digit is left out. */
export function* eachSentence(text: string): Generator<Window> {
  const boundary = /(?<![.!?…])[.!?…]+["'”’)\]]*\s+|[。！？]+|[\r\n]+|\s\|\s/gu;
  let start = 0;
  for (const match of text.matchAll(boundary)) {
    yield* partsOf(text, start, match.index + match[0].length);
    start = match.index + match[0].length;
  }
  yield* partsOf(text, start, text.length);
}

function* partsOf(text: string, from: number, to: number): Generator<Window> {
  let start = from;
  while (start < to) {
    let end = Math.min(to, start + longestSentence);
    if (end < to) {
      // Not in the text itself: where it has no spaces, all that comes before would be searched for each part.
      const half = start + longestSentence / 2 + 1;
      const space = text.slice(half, end + 1).lastIndexOf(" ");
      if (space >= 0) end = half + space + 1;
    }
    const part = text.slice(start, end);
    const lead = part.length - part.trimStart().length;
    const trimmed = part.trim();
    if (/[\p{L}\p{N}]/u.test(trimmed)) {
      yield { start: start + lead, end: start + lead + trimmed.length };
    }
    start = end;
  }
}

/** Words, pairs of words and parts of words share this many weights, by hash. */
export const buckets = 1 << 14;

const startsWithDigit = /^\p{N}/u;
/** Ranges and not scripts: those take far longer to look up. */
const farEastern = /[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]/;
const offset = 0x811c9dc5;

/** FNV-1a over UTF-16 units: http://www.isthe.com/chongo/tech/comp/fnv/ */
export function hashOf(text: string, end = text.length, from = offset): number {
  let state = from;
  for (let index = 0; index < end; index += 1) {
    state = Math.imul(state ^ text.charCodeAt(index), 0x01000193);
  }
  return state;
}

/** Words of a sentence: all its letters and digits in rows. */
export function wordsOf(plain: string, ascii: boolean): readonly string[] {
  const pattern = ascii ? /[a-z]+(?:'[a-z]+)?|[0-9]+/g : /\p{L}+(?:'\p{L}+)?|\p{N}+/gu;
  return plain.match(pattern) ?? [];
}

/** The buckets of a sentence's words, of each with the one before it, and of beginnings of long ones; some may come twice. */
export function bucketsOf(words: readonly string[], ascii: boolean): Uint16Array {
  const found: number[] = [];
  let previous = 1;
  for (const word of words) {
    const hash = startsWithDigit.test(word) ? 2 : hashOf(word);
    found.push(bucketOf(hash, 17), bucketOf(Math.imul(previous, 31) ^ hash, 29));
    if (word.length >= 6) found.push(bucketOf(hashOf(word, 5), 43));
    if (!ascii && farEastern.test(word)) {
      for (let at = 0; at + 2 <= word.length; at += 1) {
        found.push(bucketOf(hashOf(word.slice(at, at + 2)), 59));
      }
    }
    previous = hash;
  }
  return Uint16Array.from(found);
}

/** The end of MurmurHash3, so that like hashes of different kinds part. */
function bucketOf(hash: number, kind: number): number {
  let state = hash ^ Math.imul(kind, 0x9e3779b1);
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) & (buckets - 1);
}

/** A pattern on normal text (normalise-text.ts). */
export interface TextPattern {
  /** `ascii` says that the text has no other characters, which is faster. */
  test(plain: string, ascii: boolean): boolean;
}

/** From a source with the `u` flag. For ASCII it is compiled once more, with a range in the place of all letters of Unicode. */
export function textPattern(source: string): TextPattern {
  const general = new RegExp(source, "u");
  const fast = new RegExp(source.replaceAll("[^\\p{L}]", "[^a-z]").replaceAll("\\p{L}", "[a-z]"));
  return { test: (plain, ascii) => (ascii ? fast : general).test(plain) };
}
