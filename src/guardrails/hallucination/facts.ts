import { findDates, type FoundDate } from "./dates.ts";
import { findNumbers, type FoundNumber } from "./numbers.ts";

/** What of a text can be looked up: these are what models invent. */
export interface Facts {
  readonly numbers: readonly FoundNumber[];
  readonly dates: readonly FoundDate[];
  /** `HAT266`, `user_17`, e-mail addresses and the like, in lower case. */
  readonly identifiers: readonly string[];
  /** What stands in quotation marks. */
  readonly quotes: readonly string[];
  /** Words of names, in lower case. */
  readonly names: readonly string[];
}

const identifier =
  /(?<![\p{L}\p{N}])(?=[\p{N}_@#./:-]{0,80}\p{L})(?=[\p{L}#./:-]{0,80}[\p{N}_@])[\p{L}\p{N}][\p{L}\p{N}_@#./:-]{1,80}(?<![.:/-])/gu;
const ordinal = /^\d+(?:st|nd|rd|th|s|x|k|m|bn|h|min|kg|km|cm|mm|gb|mb|am|pm|eur|usd|er|ten?)$/u;
const quoted = /["“„«]([^"“”„«»\n]{2,200})["”“»]/gu;

/** Days and months are dates; the others begin sentences or stand for nothing that can be looked up. */
const noNames = new Set(
  "i i'm i've i'll ok pdf faq url id am pm usa usd eur api json monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september october november december yes no the a an and or but if in on at to for of with from by as is are was were it this that these those we you they he she my your our their its mr mrs ms dr euro euros dollar dollars pounds also please note here there however total summary based according".split(
    " ",
  ),
);

/** Linear in the text, but for very long words. */
export function factsOf(text: string): Facts {
  const dates = findDates(text);
  let rest = blanked(text, dates);
  const identifiers: string[] = [];
  rest = rest.replace(identifier, (found) => {
    const plain = found.toLowerCase();
    if (ordinal.test(plain)) return found;
    identifiers.push(plain);
    return " ".repeat(found.length);
  });
  const quotes = Array.from(text.matchAll(quoted), (match) => match[1]?.trim() ?? "");
  return { numbers: findNumbers(rest), dates, identifiers, quotes, names: namesIn(rest) };
}

function blanked(text: string, spans: readonly FoundDate[]): string {
  let result = "";
  let at = 0;
  for (const { start, end } of spans) {
    result += text.slice(at, start) + " ".repeat(end - start);
    at = end;
  }
  return result + text.slice(at);
}

/**
 * Capitalised words inside a sentence, and at its beginning where another follows. None in German, whose nouns are all
 * capitalised, nor in headings and labels.
 */
function namesIn(text: string): string[] {
  if (/(?<!\p{L})(?:der|die|das|und|ist|nicht|ein|eine|mit|für|ich|wir|sie)(?!\p{L})/u.test(text)) {
    return [];
  }
  const sentence = text
    .replace(/^\s*[*_]{0,3}[^:.\n]{1,40}:[*_]{0,3}(?=\s)/u, "")
    .replace(/[*_`]/g, " ");
  const words = Array.from(sentence.matchAll(/\p{L}[\p{L}'’-]*/gu));
  const isBig = (at: number) => /^\p{Lu}/u.test(words[at]?.[0] ?? "");
  const big = words.filter((_, at) => isBig(at)).length;
  if (big > 2 && big >= words.length * 0.75 && !/[.!]\s*$/.test(sentence)) return [];
  return words.flatMap(({ 0: word, index }, at) => {
    const before = sentence.slice(0, index).trimEnd();
    const first = before === "" || /[.!?:;"“(\-–—|]$/.test(before);
    if (!isBig(at) || (first && !isBig(at + 1))) return [];
    const plain = word.toLowerCase().replace(/['’]s?$/, "");
    return noNames.has(plain) || plain.length < 2 ? [] : [plain];
  });
}
