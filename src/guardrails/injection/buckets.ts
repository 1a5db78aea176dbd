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
