import type { CountryCode } from "libphonenumber-js/max";
import type { RailSpan } from "../rail.ts";
import { type DigitGroup, digitGroups, neighbours } from "./digit-groups.ts";
import type { Finder } from "./finder.ts";
import { phoneNumbers } from "./libraries.ts";
import { isInsideUrl, isNoPhone } from "./not-a-phone.ts";
import { isCalledAfter, isCalledBefore } from "./phone-words.ts";
import { after, isInsideToken, isNumberOfSomething } from "./surroundings.ts";

const candidate =
  /(?<![\p{L}\p{N}_$€£¥#/%\\&?~^*]|\p{N}[.,])[+(]?\d(?:[ \u00a0().\-/]{0,3}\d){6,19}(?=[ ]?(?:x|ext\.?)[ ]?\d{1,6}(?![\p{L}\p{N}_])|(?![\p{L}\p{N}_%€£°]|[.,:]\p{N}))/giu;
const extension = /^ ?(?:x|ext\.?|extension) ?\d{1,6}(?![\p{L}\p{N}_])/iu;

/** E.164 allows 15 digits; the shortest local ones that people write down have 7. */
const lengths = { shortest: 7, longest: 15 };

/** `+41 (0)69 979 80 58` has six, those of other countries no more than eight. */
const mostGroups = 8;

/** Where a number without a country's code may be from; countries whose numbers begin with a 0 or are in brackets. */
const regions: readonly CountryCode[] = [
  "GB",
  "DE",
  "FR",
  "IT",
  "ES",
  "NL",
  "BE",
  "CH",
  "AT",
  "SE",
  "AU",
  "NZ",
  "IN",
  "BR",
  "JP",
  "ZA",
];

/** Asking the library costs some 0.1 ms; a text with more candidates than this is not one that a person wrote. */
const mostAsked = 500;

/** `(602) 272-9781`, `602-272-9781`, `+1 602.272.9781`: the form is as good as a country's code. */
const northAmerican = /^(?:\+?1[ .-]?)?(?:\(\d{3}\)[ .-]?|\d{3}[ .-])\d{3}[ .-]\d{4}$/;

/**
 * Phone numbers: those with a country's code, those in the form of North America, those that are valid in one of some
 * countries, and any of 7 to 15 digits that the text calls one. The last are found even where no such number can exist:
 * mistyped or made up, whoever wrote it meant a phone.
 */
export const findPhones: Finder = (text) => {
  const found: RailSpan[] = [];
  const asking = { left: mostAsked };
  for (const match of text.matchAll(candidate)) {
    const start = match.index;
    const end = start + match[0].length;
    if (isInsideUrl(text, start) || isInsideToken(text, start, end)) continue;
    const groups = digitGroups(match[0], start);
    const called = { before: isCalledBefore(text, start), after: isCalledAfter(text, end) };
    const isOther = isNumberOfSomething(text, start);
    let next = 0;
    for (const { from, to } of neighbours(groups, mostGroups, text)) {
      if (from < next || !hasPhonesLength(groups, from, to)) continue;
      const number = groups.slice(from, to);
      const isFirst = from === 0;
      const isCalled = (isFirst && called.before) || (to === groups.length && called.after);
      const span = spanOf(text, number);
      if (isNoPhone(text, span, isCalled)) continue;
      if (!isCalled && ((isFirst && isOther) || !isPhoneByForm(text, span, asking))) continue;
      found.push(withExtension(text, span));
      next = to;
    }
  }
  return found;
};

/** Of the run from `from` to before `to`; not cut out, since most runs are not of that length. */
function hasPhonesLength(groups: readonly DigitGroup[], from: number, to: number): boolean {
  let [digits, single] = [0, 0];
  for (let at = from; at < to; at += 1) {
    const length = groups[at]?.digits.length ?? 0;
    digits += length;
    if (length === 1) single += 1;
  }
  return digits >= lengths.shortest && digits <= lengths.longest && single <= 2;
}

/** With the sign or the bracket that belongs to the first digits; a bracket that is not closed in it is around a list. */
function spanOf(text: string, number: readonly DigitGroup[]): RailSpan {
  const first = number[0]?.start ?? 0;
  const end = number.at(-1)?.end ?? first;
  const sign = text[first - 1];
  const isOwn = sign === "+" || (sign === "(" && text.slice(first, end).includes(")"));
  return { start: isOwn ? first - 1 : first, end, label: "PHONE" };
}

function withExtension(text: string, span: RailSpan): RailSpan {
  const more = extension.exec(after(text, span.end, 20))?.[0].length ?? 0;
  return { ...span, end: span.end + more };
}

function isPhoneByForm(text: string, span: RailSpan, asking: { left: number }): boolean {
  const written = text.slice(span.start, span.end);
  if (northAmerican.test(written)) return true;
  if (written.startsWith("+")) return isPossible(written, asking);
  if (/^\d+$/.test(written)) return false;
  if (/^0(?:0|11)[ -]?[1-9]/.test(written) && isPossible(international(written), asking))
    return true;
  return /^[(0]/.test(written) && isValidSomewhere(written, asking);
}

function international(written: string): string {
  return written.replace(/^0(?:0|11)/, "+");
}

/** Past `mostAsked`, what looks like a number counts as one: better hidden than missed. */
function isPossible(written: string, asking: { left: number }): boolean {
  if (asking.left <= 0) return true;
  asking.left -= 1;
  return phoneNumbers().parsePhoneNumberFromString(written)?.isPossible() ?? false;
}

function isValidSomewhere(written: string, asking: { left: number }): boolean {
  return regions.some((region) => {
    if (asking.left <= 0) return true;
    asking.left -= 1;
    return phoneNumbers().parsePhoneNumberFromString(written, region)?.isValid() ?? false;
  });
}
