/** Counts the tokens of a text. Pure once made. */
export type TokenCounter = (text: string) => number;

type EncodingName = "o200k_base" | "cl100k_base";

/**
 * Longest run of letters, of spaces or of signs that is encoded in one go: byte pair encoding takes quadratic time in it.
 * Longer ones are cut there, which may count a token too many at each cut; other texts are counted exactly.
 */
const longestRun = 256;

const counters = new Map<EncodingName, Promise<TokenCounter>>();

/**
 * Loads the encoding of a model on first use. Exact for OpenAI's models. For all others it is an approximation by OpenAI's
 * newest encoding (o200k_base): within some 20 % for prose, worse for code and rare scripts.
 * @param ref `provider:model`
 */
export function tokenCounter(ref: string): Promise<TokenCounter> {
  const name = encodingOf(ref);
  const known = counters.get(name);
  if (known !== undefined) return known;
  const loading = loadCounter(name);
  counters.set(name, loading);
  return loading;
}

/** {@link tokenCounter} for a single text. */
export async function countTokens(text: string, ref: string): Promise<number> {
  const count = await tokenCounter(ref);
  return count(text);
}

function encodingOf(ref: string): EncodingName {
  const older = /^openai:(gpt-3\.5|gpt-4(?![o.\d])|text-embedding|davinci-002|babbage-002)/;
  return older.test(ref) ? "cl100k_base" : "o200k_base";
}

async function loadCounter(name: EncodingName): Promise<TokenCounter> {
  const { countTokens: count } =
    name === "cl100k_base"
      ? await import("gpt-tokenizer/encoding/cl100k_base")
      : await import("gpt-tokenizer/encoding/o200k_base");
  // Text that looks like a special token is text: it is counted, never refused.
  const asText = { disallowedSpecial: new Set<string>() };
  return (text) => countInRuns(text, (part) => count(part, asText));
}

/** One match per run of letters, spaces or signs; digits are parted into threes anyway. */
const run = /[\p{L}\p{M}]+|\s+|[^\s\p{L}\p{M}\p{N}]+/gu;

function countInRuns(text: string, count: TokenCounter): number {
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

/** The cut, moved so that it does not part a surrogate pair. */
function cutAt(text: string, at: number): number {
  const before = text.charCodeAt(at - 1);
  const after = text.charCodeAt(at);
  const parts = before >= 0xd800 && before < 0xdc00 && after >= 0xdc00 && after < 0xe000;
  return parts ? at - 1 : at;
}
