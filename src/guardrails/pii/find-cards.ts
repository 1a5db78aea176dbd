import type { RailSpan } from "../rail.ts";
import { type DigitGroup, digitGroups, joinDigits, neighbours } from "./digit-groups.ts";
import type { Finder } from "./finder.ts";
import { validators } from "./libraries.ts";
import { after, before, isInsideToken, isNumberOfSomething } from "./surroundings.ts";

const candidate =
  /(?<![\p{L}\p{N}_]|[\p{N}+$€£¥][.,]?)\d(?:[ -]?\d){11,22}(?![\p{L}\p{N}_]|[.,]\p{N})/gu;

const cardWord =
  /\b(?:cards?|cc|ccn|visa|master ?card|amex|american express|maestro|discover|diners|jcb|debit|credit|pan|kreditkarte|karte|carte|tarjeta|carta)\b/i;

/** ISO/IEC 7812 allows up to 19 digits; the shortest in use, of Maestro, have 12. */
const lengths = { shortest: 12, longest: 19 };
/** Lengths of cards that need no word beside them: other lengths are as often those of barcodes and ids. */
const usual = new Set([14, 15, 16]);

/** Digits that issuers write together, but for the last of them. */
const shortestGroup = 4;

/**
 * Card numbers: the check digit (Luhn) is right, and either a known issuer gives out such numbers or the text speaks of a
 * card.
 */
export const findCards: Finder = (text) => {
  const found: RailSpan[] = [];
  for (const match of text.matchAll(candidate)) {
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
