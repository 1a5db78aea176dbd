import type { RailSpan } from "../rail.ts";
import type { Finder } from "./finder.ts";
import { before } from "./surroundings.ts";

/**
 * Areas 000, 666 and 900 to 999, group 00 and serial 0000 were never given out (Social Security Administration, "Social
 * Security Number Randomization").
 With a letter
 * or two after it (`123-45-6789-A`) it is the number of a part.
 */
const candidate =
  /(?<![\p{L}\p{N}_]|[\p{N}][.,/-])(?!000|666|9)\d{3}([ -]?)(?!00)\d{2}\1(?!0000)\d{4}(?![\p{L}\p{N}_]|[.,/-]\p{N}|-\p{L}{1,2}(?!\p{L}))/gu;

const named = /\b(?:ssn|social[ -]security)\b[^\d\n]{0,30}$/i;

/** US social security numbers: `123-45-6789` anywhere, written otherwise only where it is named. */
export const findSsns: Finder = (text) => {
  const found: RailSpan[] = [];
  for (const match of text.matchAll(candidate)) {
    const start = match.index;
    if (match[1] !== "-" && !named.test(before(text, start, 60))) continue;
    found.push({ start, end: start + match[0].length, label: "SSN" });
  }
  return found;
};
