import { createRequire } from "node:module";
import type validator from "validator";
import { once } from "../../expression/cel.ts";

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
