/** Encodes a text and says how many tokens there are. */
type Count = (text: string) => number;

/** Characters up to which a text is encoded as a whole; half a second or so. */
export const longestExact = 2_000_000;

/** A sample of {@link countBySample}: so many parts, evenly spread, of so many characters each. */
const sampledParts = 64;
const sampledLength = 8_192;

/**
 * Longest run of letters, of spaces or of signs that is encoded in one go: byte pair encoding takes quadratic time in it.
 * Longer ones are cut there, which may count a token too many at each cut; other texts are counted exactly.
 */
const longestRun = 256;

/** One match per run of letters, spaces or signs; digits are parted into threes anyway. */
const run = /[\p{L}\p{M}]+|\s+|[^\s\p{L}\p{M}\p{N}]+/gu;

/** Tokens of a text, in linear time whatever it holds. */
export function countInRuns(text: string, count: Count): number {
  if (text.length <= longestRun) return count(text);
  let total = 0;
  let start = 0;
  for (const match of text.matchAll(run)) {
    const length = match[0].length;
    if (length <= longestRun) continue;
    if (match.index > start) total += count(text.slice(start, match.index));
    start = match.index + length;
    for (let at = match.index; at < start;) {
      const end = cutAt(text, Math.min(at + longestRun, start));
      total += count(text.slice(at, end));
      at = end;
    }
  }
  return start < text.length ? total + count(text.slice(start)) : total;
}

/** Tokens of a text that is longer than the sample, estimated from parts of it; the same text always gives the same figure. */
export function countBySample(text: string, count: Count): number {
  const stride = (text.length - sampledLength) / (sampledParts - 1);
  let tokens = 0;
  let characters = 0;
  for (let i = 0; i < sampledParts; i += 1) {
    const from = cutAt(text, Math.round(i * stride));
    const to = cutAt(text, Math.min(from + sampledLength, text.length));
    tokens += countInRuns(text.slice(from, to), count);
    characters += to - from;
  }
  return Math.ceil((tokens * text.length) / characters);
}

/** The cut, moved so that it does not part a surrogate pair. */
function cutAt(text: string, at: number): number {
  const before = text.charCodeAt(at - 1);
  const after = text.charCodeAt(at);
  const parts = before >= 0xd800 && before < 0xdc00 && after >= 0xdc00 && after < 0xe000;
  return parts ? at - 1 : at;
}
