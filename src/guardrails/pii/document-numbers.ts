import type { RailSpan } from "../../definition/rail.ts";
import {
  after,
  before,
  type Finder,
  isInsideToken,
  isNumberOfSomething,
  validators,
} from "./finder.ts";

const cardCandidate =
  /(?<![\p{L}\p{N}_]|[\p{N}+$€£¥][.,]?)\d(?:[ -]?\d){11,22}(?![\p{L}\p{N}_]|[.,]\p{N})/gu;

const cardWord =
  /\b(?:cards?|cc|ccn|visa|master ?card|amex|american express|maestro|discover|diners|jcb|debit|credit|pan|kreditkarte|karte|carte|tarjeta|carta)\b/i;

/** ISO/IEC 7812 allows up to 19 digits; the shortest in use, of Maestro, have 12. */
const lengths = { shortest: 12, longest: 19 };
/** Card lengths that need no word next to them: other lengths are as often those of barcodes and ids. */
const usual = new Set([14, 15, 16]);

/** Digits that issuers write together, but for the last of them. */
const shortestGroup = 4;

/**
 * Card numbers: the check digit (Luhn) is right, and either a known issuer gives out such numbers or the text speaks of a
 * card.
 */
export const findCards: Finder = (text) => {
  const found: RailSpan[] = [];
  for (const match of text.matchAll(cardCandidate)) {
    const groups = digitGroups(match[0], match.index);
    if (groups.every(({ digits }) => digits.length < shortestGroup)) continue;
    for (const { from, to } of neighbours(groups, 6, text)) {
      const span = cardOf(text, groups.slice(from, to));
      if (span === undefined) continue;
      found.push(span);
      break;
    }
  }
  return found;
};

function cardOf(text: string, groups: readonly DigitGroup[]): RailSpan | undefined {
  if (!isGroupedAsCard(groups)) return undefined;
  const number = joinDigits(groups);
  const { length } = number;
  if (length < lengths.shortest || length > lengths.longest) return undefined;
  if (!validators().isLuhnNumber(number) || /^0+$/.test(number)) return undefined;
  const start = groups[0]?.start ?? 0;
  const end = groups.at(-1)?.end ?? 0;
  if (isInsideToken(text, start, end)) return undefined;
  const isNamed = cardWord.test(before(text, start, 48)) || cardWord.test(after(text, end, 24));
  const isKnown = usual.has(length) && isOfKnownIssuer(number) && !isNumberOfSomething(text, start);
  return isNamed || isKnown ? { start, end, label: "CARD" } : undefined;
}

/** The library takes any number that begins as one of Mastercard's, whatever its length. */
function isOfKnownIssuer(number: string): boolean {
  const isMastercardLike = /^(?:5[1-5]|2[2-7])/.test(number);
  return (!isMastercardLike || number.length === 16) && validators().isCreditCard(number);
}

function isGroupedAsCard(groups: readonly DigitGroup[]): boolean {
  return (
    groups.length === 1 || groups.slice(0, -1).every(({ digits }) => digits.length >= shortestGroup)
  );
}

/** Country, check digits and up to 30 characters, written together or in groups of four; some set the country apart. */
const ibanCandidate =
  /(?<![\p{L}\p{N}_])[A-Z]{2}[ -]?\d{2}(?:[A-Z0-9]{11,30}|(?:[ -][A-Z0-9]{4}){2,7}(?:[ -][A-Z0-9]{1,3})?)(?![\p{L}\p{N}_])/giu;

/** Country and check digits. */
const headLength = 4;
/** So often a number is looked for inside of what was none: it costs up to nine times the time. */
const mostRetried = 500;

/** International bank account numbers whose length and form are their country's and whose check digits are right. */
export const findIbans: Finder = (text) => {
  const found: RailSpan[] = [];
  const search = new RegExp(ibanCandidate);
  let retried = 0;
  for (let match = search.exec(text); match !== null; match = search.exec(text)) {
    const iban = ibanOf(match[0]);
    // What looked like the beginning may stand before a number: the next one may begin inside.
    if (iban === undefined && retried < mostRetried) {
      retried += 1;
      search.lastIndex = match.index + headLength;
    }
    if (iban === undefined) continue;
    search.lastIndex = match.index + iban.length;
    found.push({ start: match.index, end: match.index + iban.length, label: "IBAN" });
  }
  return found;
};

/** The words that follow may look like further groups, so that the shorter ones are tried too. */
function ibanOf(candidateText: string): string | undefined {
  for (let length = candidateText.length; length > 0; length = lastGap(candidateText, length)) {
    const written = candidateText.slice(0, length);
    if (validators().isIBAN(written.replaceAll(/[ -]/g, ""))) return written;
  }
  return undefined;
}

function lastGap(text: string, length: number): number {
  return Math.max(text.lastIndexOf(" ", length - 1), text.lastIndexOf("-", length - 1));
}

/**
 * Areas 000, 666 and 900 to 999, group 00 and serial 0000 were never given out (Social Security Administration, "Social
 * Security Number Randomization").
 With a letter
 * or two after it (`123-45-6789-A`) it is the number of a part.
 */
const ssnCandidate =
  /(?<![\p{L}\p{N}_]|[\p{N}][.,/-])(?!000|666|9)\d{3}([ -]?)(?!00)\d{2}\1(?!0000)\d{4}(?![\p{L}\p{N}_]|[.,/-]\p{N}|-\p{L}{1,2}(?!\p{L}))/gu;

const namedSsn = /\b(?:ssn|social[ -]security)\b[^\d\n]{0,30}$/i;

/** US social security numbers: `123-45-6789` anywhere, written otherwise only where it is named. */
export const findSsns: Finder = (text) => {
  const found: RailSpan[] = [];
  for (const match of text.matchAll(ssnCandidate)) {
    const start = match.index;
    if (match[1] !== "-" && !namedSsn.test(before(text, start, 60))) continue;
    found.push({ start, end: start + match[0].length, label: "SSN" });
  }
  return found;
};

const namedPassport =
  /\b(?:(?:passports?|passeport|pasaporte|passaporto|passaporte|reisepass|paspoort|travel[ ]document)(?:-?(?:nummer|nr))?|pass-?(?:nummer|nr))\b[^\n]{0,40}$/iu;
const token = /(?<![\p{L}\p{N}_-])[A-Z0-9]{6,9}(?![\p{L}\p{N}_-])/giu;

/** Asking the library of all countries costs some 0.05 ms; a text with more candidates is not one that a person wrote. */
const mostAsked = 500;

/** The second line of a passport's machine-readable zone (ICAO 9303, part 4): number, country, birth, sex, expiry, rest. */
const machineReadable =
  /(?<![\p{L}\p{N}_<])([A-Z0-9<]{9})(\d)[A-Z<]{3}\d{7}[MFX<]\d{7}[A-Z0-9<]{14}[\d<]\d(?![\p{L}\p{N}_<])/gu;

/** Passport numbers where they are named, and the machine-readable line of a passport wherever it stands. */
export const findPassports: Finder = (text) => [...findNamed(text), ...findMachineReadable(text)];

function findNamed(text: string): readonly RailSpan[] {
  if (!/pass(?:p|ap|ep|-?n)|pasap|reisepass|paspoort|travel document/i.test(text)) return [];
  const found: RailSpan[] = [];
  let asked = 0;
  for (const match of text.matchAll(token)) {
    const [number] = match;
    if (number.replaceAll(/\D/g, "").length < 4) continue;
    if (!namedPassport.test(before(text, match.index, 60))) continue;
    asked += 1;
    // Past it, what looks like a number counts as one: better hidden than missed.
    if (asked <= mostAsked && !isPassportNumber(number)) continue;
    found.push({ start: match.index, end: match.index + number.length, label: "PASSPORT" });
  }
  return found;
}

/** A number that is named a passport's may be of any country that the library knows. */
function isPassportNumber(number: string): boolean {
  const { isPassportNumber: isOf, passportCountries } = validators();
  return passportCountries.some((country) => isOf(number, country));
}

function findMachineReadable(text: string): readonly RailSpan[] {
  const found: RailSpan[] = [];
  for (const match of text.matchAll(machineReadable)) {
    const [line, number = "", check] = match;
    if (checkDigit(number) !== Number(check)) continue;
    found.push({ start: match.index, end: match.index + line.length, label: "PASSPORT" });
  }
  return found;
}

/** ICAO 9303, part 3, 4.9: weights 7, 3, 1; A is 10 and `<` is 0. */
function checkDigit(field: string): number {
  const weights = [7, 3, 1];
  const values = Array.from(field, (char) => (char === "<" ? 0 : Number.parseInt(char, 36)));
  return values.reduce((sum, value, at) => sum + value * (weights[at % 3] ?? 0), 0) % 10;
}

/** A run of digits in a candidate, in UTF-16 units from the beginning of the text. */
export interface DigitGroup {
  readonly start: number;
  readonly end: number;
  readonly digits: string;
}

/** The runs of digits in `text`, which begins at `offset` of the whole text. */
export function digitGroups(text: string, offset: number): readonly DigitGroup[] {
  return [...text.matchAll(/\d+/g)].map((match) => ({
    start: offset + match.index,
    end: offset + match.index + match[0].length,
    digits: match[0],
  }));
}

/**
 * Runs of neighbouring groups, longest first of each beginning: a number may stand between others. A run begins and ends
 * where there is a gap, since what is held together by a dot or a dash is one thing. At most `most` groups a run.
 */
export function* neighbours(
  groups: readonly DigitGroup[],
  most: number,
  text: string,
): Generator<{ readonly from: number; readonly to: number }> {
  const isCut = (at: number) => {
    const [left, right] = [groups[at - 1], groups[at]];
    return (
      left === undefined || right === undefined || /\s/.test(text.slice(left.end, right.start))
    );
  };
  const cuts = groups.map((_, at) => isCut(at));
  for (let from = 0; from < groups.length; from += 1) {
    if (cuts[from] !== true) continue;
    for (let to = Math.min(groups.length, from + most); to > from; to -= 1) {
      if (to === groups.length || cuts[to] === true) yield { from, to };
    }
  }
}

function joinDigits(groups: readonly DigitGroup[]): string {
  return groups.map(({ digits }) => digits).join("");
}
