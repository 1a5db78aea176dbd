import { isDerivable } from "./arithmetic.ts";
import type { Claim } from "./claims.ts";
import { contentWords, type Evidence, plainText, rootOf } from "./evidence.ts";
import { factsOf } from "./facts.ts";
import { formsOfDate } from "./dates.ts";
import type { FoundNumber } from "./numbers.ts";
import type { NumberClaim } from "./value-claims.ts";

/** A claim whose facts are all in the evidence has at least this much support, one without facts at least {@link vague}. */
const factual = 0.5;
/** Other words may say the same: a claim without facts needs about a quarter of its words to reach 0.5. */
const vague = 0.35;

/**
 * How far the evidence supports a claim, 0..1. What stands there word by word: 1. With facts (numbers, dates, identifiers,
 * quotations, names): 0.5 and more by the words it shares with one part of the evidence when all of them are found, else
 * below 0.5 by the share that is. Without facts: 0.35 and more by shared words.
 */
export function supportOf(claim: Claim, evidence: Evidence): number {
  const plain = plainText(claim.text).replace(/[.!?…]+$/, "");
  if (evidence.plain.hasPhrase(plain)) return 1;
  const words = contentWords(claim.text);
  const checks = factChecks(claim.text, words, evidence);
  const found = checks.filter(Boolean).length;
  if (found < checks.length) return (0.9 * factual * found) / checks.length;
  const least = checks.length === 0 ? vague : factual;
  return least + (1 - least) * evidence.overlap(words);
}

/** How far the evidence supports a number of a structured answer: as {@link supportOf} does a claim whose one fact it is. */
export function supportOfNumber({ text, words, number }: NumberClaim, evidence: Evidence): number {
  if (!hasNumber(number, { text, words, numbers: [number] }, evidence)) return 0;
  return factual + (1 - factual) * evidence.overlap(words);
}

function factChecks(text: string, words: readonly string[], evidence: Evidence): boolean[] {
  const { numbers, dates, identifiers, quotes, names } = factsOf(text);
  return [
    ...numbers.map((number) => hasNumber(number, { text, words, numbers }, evidence)),
    ...dates.map(({ values }) => values.some((value) => hasDate(value, evidence))),
    ...identifiers.map(
      (name) => evidence.identifiers.has(name) || evidence.plain.includes(plainText(name)),
    ),
    ...quotes.map((quote) => evidence.plain.includes(plainText(quote).replace(/[.,!?]+$/, ""))),
    ...names.map((name) => evidence.words.has(rootOf(name)) || evidence.plain.includes(name)),
  ];
}

function hasNumber(
  number: FoundNumber,
  claim: Parameters<typeof isDerivable>[1],
  evidence: Evidence,
): boolean {
  return (
    number.values.some((value) => evidence.numbers.has(value)) ||
    isRounded(number.values, number.decimals, claim.text, evidence) ||
    isDerivable(number, claim, evidence)
  );
}

function hasDate(value: string, { dates, datedDays }: Evidence): boolean {
  // Evidence without a year supports a date with one only where the day is the same and no other year is known.
  return (
    dates.has(value) ||
    (formsOfDate(value).length > 1 && dates.has(value.slice(5)) && !datedDays.has(value.slice(5)))
  );
}

/** `124` for `123.6`, and `about 1,200` for `1234`. */
function isRounded(
  values: readonly number[],
  decimals: number,
  text: string,
  { numbers }: Evidence,
): boolean {
  const about =
    /\b(?:about|around|approximately|roughly|nearly|almost|over|some|circa|ca|rund|etwa|ungefähr|fast)\b|[~≈]/iu.test(
      text,
    );
  return values.some(
    (value) =>
      numbers.hasRounded(value, decimals) ||
      (about && value !== 0 && numbers.hasNear(value, 0.05 * value)),
  );
}
