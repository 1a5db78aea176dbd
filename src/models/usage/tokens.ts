import { type EncodingName, loadEncoding } from "./byte-pairs.ts";

/** Counts the tokens of a text; the same function for all models of one encoding. Pure, and never throws. */
export type TokenCounter = (text: string) => number;

/** One match per run of letters, spaces or signs; digits are parted into threes anyway. */
const run = /[\p{L}\p{M}]+|\s+|[^\s\p{L}\p{M}\p{N}]+/gu;

/**
 * Longest run of letters, of spaces or of signs that is encoded in one go: byte pair encoding takes quadratic time in it.
 * Longer ones are cut there, which may count a token too many at each cut; other texts are counted exactly.
 */
const longestRun = 256;

/** The sample of {@link countBySample}: number of evenly spread parts, and characters of each. */
const sampledParts = 64;
const sampledLength = 8_192;

/** Characters up to which a text is encoded as a whole; half a second or so. */
const longestExact = 2_000_000;

const o200k =
  /^openai:(ft:)?(gpt-4o|gpt-4\.[15]|gpt-[5-9]|chatgpt-4o|o[1-9](-|$))|^[^:]+:(.*\/)?gpt-oss/;

/** Models of OpenAI's that are known to be encoded by cl100k_base, and by o200k_base. */
const cl100k =
  /^openai:(ft:)?(gpt-3\.5|gpt-4(?![o.\d])|text-embedding-(3|ada-002)|davinci-002|babbage-002)/;

/** By encoding; so that a text that was counted for one model need not be counted again for its relatives. */
const counters: Readonly<Record<EncodingName, TokenCounter>> = {
  o200k_base: lazily("o200k_base"),
  cl100k_base: lazily("cl100k_base"),
};

/**
 * Exact for OpenAI's models and texts of up to 2,000,000 characters; longer ones are counted by a sample of half a million
 * characters. For all other models it is an approximation by OpenAI's newest encoding (o200k_base): within some 20 % for
 * prose, worse for code and rare scripts. The encoding is loaded at the first count of a text, which takes some 150 ms.
 * @param ref `provider:model`
 */
export function tokenCounter(ref: string): TokenCounter {
  return counters[encodingOf(ref).name];
}

/** {@link tokenCounter} for a single text. */
export function countTokens(text: string, ref: string): number {
  return tokenCounter(ref)(text);
}

/** The encoding by which a model's tokens are counted, and whether it is known to be its own. */
export function encodingOf(ref: string): { readonly name: EncodingName; readonly own: boolean } {
  if (cl100k.test(ref)) return { name: "cl100k_base", own: true };
  return { name: "o200k_base", own: o200k.test(ref) };
}

function lazily(name: EncodingName): TokenCounter {
  let encode: TokenCounter | undefined;
  return (text) => {
    if (text === "") return 0;
    encode ??= loadEncoding(name);
    return text.length > longestExact ? countBySample(text, encode) : countInRuns(text, encode);
  };
}

/** Encodes a text and says how many tokens there are. */
type Count = (text: string) => number;

/** Tokens of a text, in linear time whatever it holds. */
function countInRuns(text: string, count: Count): number {
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
function countBySample(text: string, count: Count): number {
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
