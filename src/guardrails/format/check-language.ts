import type { DetectedLanguage } from "../../definition/detected-languages.ts";
import type { FormatCheck } from "./format-check.ts";

/** Fewer letters are undecidable: "OK" is a word of many languages. */
const leastLetters = 24;

/** Code is in no language, and its names are mostly English. */
const code =
  /^ {0,3}(`{3,}|~{3,})[^\n]*\n(?:(?! {0,3}\1)[^\n]*\n)*(?: {0,3}\1[`~]*[ \t]*(?:\n|$))?|`[^`\n]+`/gm;

/** The detector reads about this much; UTF-16 units. */
const longestRead = 5000;

/** The detector, loaded with the first text. */
async function detector() {
  const { eld } = await import("eld/small");
  return eld;
}

/**
 * The text has to be in the language, as far as that can be told: short texts pass, and those that the detector is not sure
 * about.
 */
export function checkLanguage(language: DetectedLanguage): FormatCheck {
  return async ({ text }) => {
    const prose = text.slice(0, longestRead).replaceAll(code, " ");
    if (prose.replaceAll(/[^\p{L}]/gu, "").length < leastLetters) return [];
    const eld = await detector();
    const found = eld.detect(prose);
    if (found.language === language || found.language === "" || !found.isReliable()) return [];
    const name = new Intl.DisplayNames("en", { type: "language" }).of(language) ?? language;
    return [`The text is not in ${name} (${language}); write it in ${name}.`];
  };
}
