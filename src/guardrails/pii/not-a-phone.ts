import { after, before } from "./surroundings.ts";

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
export function isNoPhone(
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
export function isInsideUrl(text: string, start: number): boolean {
  return insideUrl.test(before(text, start, 80));
}
