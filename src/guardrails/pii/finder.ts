import { createRequire } from "node:module";
import type validator from "validator";
import type { RailSpan } from "../../definition/rail.ts";
import { once } from "../../expression/cel.ts";

/** Finds one sort of personal data. In time linear in the text's length, whatever the text. */
export type Finder = (text: string) => readonly RailSpan[];

/**
 * What stands before `at`, at most `length` UTF-16 units. Patterns on it may be as free as they like: it is short.
 */
export function before(text: string, at: number, length: number): string {
  return text.slice(Math.max(0, at - length), at);
}

/** What stands from `at` on, at most `length` UTF-16 units. */
export function after(text: string, at: number, length: number): string {
  return text.slice(at, at + length);
}

const germanNumber =
  /\b(?:(?:kunden|auftrags|rechnungs|bestell|sendungs|paket|liefer(?:schein)?|teile|artikel|material|serien|chargen|geräte|modell|vorgangs|beleg|buchungs|reservierungs|ticket|vertrags|versicherungs|mitglieds|matrikel|personal|konto|akten|fall|steuer|handelsregister)[ -]?(?:nummer|nr|id|zeichen)|(?:auftrag|rechnung|bestellung|sendung|vorgang|vertrag|beleg)(?:[ -]?nr)?|az)\b\.?[ \t]*(?:ist|war|lautet)?[ \t]*[:=#-]?[ \t]*["'(]?$/i;
const numberOfSomething =
  /(?:\b(?:order|invoice|tracking|shipment|parcel|ticket|reference|ref|case|booking|reservation|confirmation|transaction|product|item|sku|isbn|issn|doi|serial|part|model|article|version|build|commit|page|chapter|id|uuid|barcode|ean|upc)(?:[ _-]?(?:number|num|no\.?|nr\.?|id|code))?|#)[ \t]*(?:is|was|are)?[ \t]*[:=#-]?[ \t]*["'(]?$/i;

/** Whether the words right before say that a number is that of an order, a ticket, a book and so on. */
export function isNumberOfSomething(text: string, start: number): boolean {
  const words = before(text, start, 40);
  return numberOfSomething.test(words) || germanNumber.test(words);
}

const wordEnd = /[\p{L}\p{N}]$/u;

/** Whether the digits are the last part of something such as a UUID: `a716-446655440000`. */
export function isInsideToken(text: string, start: number, end: number): boolean {
  const head = before(text, start, 16);
  if (/[-_]$/.test(head) && /[\p{L}\p{N}]*\p{N}[\p{L}\p{N}]*[-_]$/u.test(head)) return true;
  const tail = /^[-_]([\p{L}\p{N}]+)/u.exec(after(text, end, 16))?.[1];
  return wordEnd.test(head) || (tail !== undefined && /\p{N}/u.test(tail));
}

type Validator = typeof validator;
type PassportCountry = Parameters<Validator["isPassportNumber"]>[1];

const load = createRequire(import.meta.url);

/** Checks of single values, loaded with the first text that is searched. */
export const validators = once(() => ({
  isCreditCard: check("isCreditCard"),
  isEmail: check("isEmail"),
  isIBAN: check("isIBAN"),
  isLuhnNumber: check("isLuhnNumber"),
  isPassportNumber: check("isPassportNumber"),
  passportCountries: (
    load("validator/lib/isPassportNumber") as {
      readonly locales: readonly NonNullable<PassportCountry>[];
    }
  ).locales,
}));

/** One file of the library: all of them take four times as long to load. */
function check<Name extends keyof Validator>(name: Name): Validator[Name] {
  return (load(`validator/lib/${name}`) as { readonly default: Validator[Name] }).default;
}

/** Google's numbering plans with all their patterns, loaded with the first number that may be a phone's. */
export const phoneNumbers = once(
  () => load("libphonenumber-js/max") as typeof import("libphonenumber-js/max"),
);
