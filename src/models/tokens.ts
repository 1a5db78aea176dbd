import { createRequire } from "node:module";
import type * as Encoding from "gpt-tokenizer/encoding/o200k_base";
import { countBySample, countInRuns, longestExact } from "./count-long-text.ts";

/** Counts the tokens of a text; the same function for all models of one encoding. Pure, and never throws. */
export type TokenCounter = (text: string) => number;

export type EncodingName = "o200k_base" | "cl100k_base";

const require = createRequire(import.meta.url);

/** By encoding; so that a text that was counted for one model need not be counted again for its relatives. */
const counters: Readonly<Record<EncodingName, TokenCounter>> = {
  o200k_base: lazily("o200k_base"),
  cl100k_base: lazily("cl100k_base"),
};

/**
 * Exact for OpenAI's models and texts of up to 2,000,000 characters; longer ones are counted by a sample of half a million
 * characters. For all other models it is an approximation by OpenAI's newest encoding (o200k_base): within some 20 % for
 * prose, worse for code and rare scripts. The encoding is loaded at the first count of a text, which takes about 150 ms.
 * @param ref `provider:model`
 */
export function tokenCounter(ref: string): TokenCounter {
  return counters[encodingOf(ref).name];
}

/** {@link tokenCounter} for a single text. */
export function countTokens(text: string, ref: string): number {
  return tokenCounter(ref)(text);
}

/** Models of OpenAI's that are known to be encoded by cl100k_base, and by o200k_base. */
const cl100k =
  /^openai:(ft:)?(gpt-3\.5|gpt-4(?![o.\d])|text-embedding-(3|ada-002)|davinci-002|babbage-002)/;
const o200k =
  /^openai:(ft:)?(gpt-4o|gpt-4\.[15]|gpt-[5-9]|chatgpt-4o|o[1-9](-|$))|^[^:]+:(.*\/)?gpt-oss/;

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

function loadEncoding(name: EncodingName): TokenCounter {
  const { countTokens: count } = require(`gpt-tokenizer/encoding/${name}`) as typeof Encoding;
  // Text that looks like a special token is text: it is counted, never refused.
  const asText = { disallowedSpecial: new Set<string>() };
  return (text) => count(text, asText);
}
