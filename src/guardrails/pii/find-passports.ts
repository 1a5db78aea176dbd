import type { RailSpan } from "../rail.ts";
import type { Finder } from "./finder.ts";
import { validators } from "./libraries.ts";
import { before } from "./surroundings.ts";

const named =
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
    if (!named.test(before(text, match.index, 60))) continue;
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
