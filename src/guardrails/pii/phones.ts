import type { CountryCode } from "libphonenumber-js/max";
import type { RailSpan } from "../../definition/rail.ts";
import { type DigitGroup, digitGroups, neighbours } from "./document-numbers.ts";
import {
  after,
  before,
  type Finder,
  isInsideToken,
  isNumberOfSomething,
  phoneNumbers,
} from "./finder.ts";

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
 * mistyped or invented, they were meant as phone numbers.
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

/** Numbers with the digits of a phone's that are something else, by how they are written. */
const otherForms: readonly RegExp[] = [
  // Dates, and dates with an hour after them; five pairs between dots are a French number.
  /^(?:19|20)\d{2}([-./ ])(?:0?[1-9]|1[0-2])\1(?:0?[1-9]|[12]\d|3[01])(?!\d)/,
  /^(?:0?[1-9]|[12]\d|3[01])([-./])(?:0?[1-9]|[12]\d|3[01])\1(?:19|20)?\d{2}(?!\d|\1\d{2}\1\d{2}$)/,
  /^(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])$/,
  // Years: 1999-2004.
  /^(?:1[5-9]|20)\d{2} ?[-/ ] ?(?:1[5-9]|20)\d{2}$/,
  // Decimal numbers.
  /^[+-]?\d+\.\d+$/,
  // Dotted numbers: addresses and versions.
  /^\d{1,3}(?:\.\d{1,3}){3}$/,
  // Social security numbers, US postcodes with four more digits.
  /^\d{3}-\d{2}-\d{4}$/,
  /^\d{5}-\d{4}$/,
  // ISBNs in groups.
  /^97[89][ -]?(?:\d[ -]?){9}\d$/,
  /^\d{1,5}-\d{1,7}-\d{1,7}-\d$/,
];

/** Times of a day, from and to; freephone numbers are written so too. */
const hours = /^(?:[01]\d|2[0-4])[0-5]\d ?- ?(?:[01]\d|2[0-4])[0-5]\d$/;
/** In thousands; phones of some countries are written so too. */
const amount = /^[+-]?\d{1,3}(?:[ .]\d{3}){2,}$/;

const unitBefore = /(?:[$€£¥]|\b(?:usd|eur|gbp|chf|rs|inr)\.?)[ ]?[+-]?$/i;
const unitAfter =
  /^ ?(?:[%€£$¥°]|(?:usd|eur|euros?|gbp|dollars?|pounds?|cents?|bytes?|[kmgt]i?b|[kcm]?m|k?g|px|ms|seconds?|minutes?|hours?|days?|years?|people|users?|rows?|times)\b)/i;
const insideUrl = /(?:https?:\/\/|www\.)[^\s<>"']*$/i;

/** Whether a candidate is a date, a version and so on; one that is not called a phone may be an amount or hours. */
function isNoPhone(
  text: string,
  span: { readonly start: number; readonly end: number },
  isCalled: boolean,
): boolean {
  const written = text.slice(span.start, span.end);
  return (
    otherForms.some((form) => form.test(written)) ||
    (!isCalled && (amount.test(written) || hours.test(written))) ||
    unitBefore.test(before(text, span.start, 8)) ||
    unitAfter.test(after(text, span.end, 12))
  );
}

/** Whether it is a part of a web address. */
function isInsideUrl(text: string, start: number): boolean {
  return insideUrl.test(before(text, start, 80));
}

/** A label before the number: `Phone:`, `mobile is`. */
const label =
  /(?:^|[^\p{L}])(?:tele?phones?|phones?|tel|mobile|mob|cell(?:phone)?|fax|whats ?app|signal|sms|hotline|landline|desk|office|direct|telefon|telefono|teléfono|téléphone|portable|handy|handynummer|rufnummer|móvil|celular|cellulare|mobil|tlf|gsm)(?:[ .-]{0,2}(?:number|num|no|nr|nummer|#))?[^\p{L}\p{N}\n]{0,3}\n?(?: ?(?:is|are|was|at|on))?[^\p{L}\p{N}\n]{0,4}$/iu;
/** What one does with a phone: `call me on`, `answering at`, `messages to`. */
const verb =
  /(?:^|[^\p{L}])(?:call|calling|called|ring|text|texting|texted|dial|dialling|reach|reached|reachable|phone|contact|sms|messages?|answering|whats ?app|appele[zr]|appelle|erreichen|erreichbar|anrufen)(?:[ -](?:me|moi|mich|uns|us|him|her|them|back|directly|anytime|it|[\p{L}]{2,12})){0,2} (?:on|at|to|via|under|unter|au)[ :]{1,2}$/iu;
const dialled =
  /(?:^|[^\p{L}])(?:call|dial|ring|text|phone)(?: (?:me|us|him|her|them|the number))?[ :]{1,2}$/iu;
/** A label after the number: `…8211-Office`, `… fax`. */
const labelAfter =
  /^[ ,\-(/]{1,3}(?:office|fax|mobile|cell|home|desk|direct|phone|tel|whatsapp)\b/i;

/** Whether the words before a number call it a phone's. */
function isCalledBefore(text: string, start: number): boolean {
  const words = before(text, start, 56);
  return label.test(words) || verb.test(words) || dialled.test(words);
}

/** Whether the word after a number calls it a phone's. */
function isCalledAfter(text: string, end: number): boolean {
  return labelAfter.test(after(text, end, 16));
}
