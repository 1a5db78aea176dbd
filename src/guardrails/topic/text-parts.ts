import { sentencesOf } from "../injection/windows.ts";

const mostParts = 32;
const shortestPart = 200;
/** A judge that is shown a part is shown all of it. */
const longestPart = 3000;
const longestWhole = 2000;

/** Part of a text, in UTF-16 units. */
export interface TextPart {
  readonly start: number;
  readonly end: number;
}

/**
 * A request as a whole and in parts of whole sentences, since what it is about may be said in one of them: at most 32,
 * but for texts so long that these had over 3,000 characters. Of a long one, the whole is its beginning; the parts are all
 * of it.
 */
export function textParts(text: string): readonly TextPart[] {
  const size = Math.min(longestPart, Math.max(shortestPart, Math.ceil(text.length / mostParts)));
  const parts: TextPart[] = [];
  let start = 0;
  const sentences = sentencesOf(text);
  sentences.forEach(({ end }, index) => {
    const next = sentences[index + 1];
    if (next !== undefined && next.end - start <= size) return;
    parts.push({ start, end });
    start = next?.start ?? end;
  });
  return parts.length === 1
    ? parts
    : [{ start: 0, end: Math.min(text.length, longestWhole) }, ...parts];
}

const courtesies = new Set(
  "hi hello hey good morning afternoon evening day thanks thank you very much many please yes no ok okay sure great bye goodbye cheers hallo guten tag morgen abend danke vielen dank bitte ja nein gut tschüss servus moin hola gracias bonjour merci".split(
    " ",
  ),
);

/** Whether nothing is said but a greeting, thanks, yes or no: these are about no topic. */
export function isCourtesy(text: string): boolean {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.length <= 5 && words.every((word) => courtesies.has(word));
}
