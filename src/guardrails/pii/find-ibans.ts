import type { RailSpan } from "../rail.ts";
import type { Finder } from "./finder.ts";
import { validators } from "./libraries.ts";

/** Country, check digits and up to 30 characters, written together or in groups of four; some set the country apart. */
const candidate =
  /(?<![\p{L}\p{N}_])[A-Z]{2}[ -]?\d{2}(?:[A-Z0-9]{11,30}|(?:[ -][A-Z0-9]{4}){2,7}(?:[ -][A-Z0-9]{1,3})?)(?![\p{L}\p{N}_])/giu;

/** Country and check digits. */
const headLength = 4;
/** So often a number is looked for inside of what was none: it costs up to nine times the time. */
const mostRetried = 500;

/** International bank account numbers whose length and form are their country's and whose check digits are right. */
export const findIbans: Finder = (text) => {
  const found: RailSpan[] = [];
  const search = new RegExp(candidate);
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
