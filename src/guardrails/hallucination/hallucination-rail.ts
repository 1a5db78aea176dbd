import { passFinding, type Rail } from "../../definition/rail.ts";
import type { HallucinationConfig } from "../../definition/schema/guardrails.ts";
import { type Claim, claimsOf, isDerivable, type NumberClaim, numberClaimsOf } from "./claims.ts";
import { contentWords, type Evidence, plainText, readEvidence, rootOf } from "./evidence.ts";
import { factsOf, formsOfDate, type FoundNumber } from "./facts.ts";

const longestQuote = 200;
const mostReasons = 10;

/**
 * Checks that each claim of an answer is supported by what the turn's tools gave and by the request: above all its numbers,
 * dates, identifiers, quotations and names, since these are what models invent (support.ts says how it is counted). No
 * model is asked, and all takes time linear in the evidence. A claim that is wrong in words alone, such as a "not" too
 * many, is not noticed.
 *
 * Of an answer that is no text but what a schema describes, each number is a claim as well, with the names that lead to it
 * (value-claims.ts); those are not among the spans, which are of texts.
 *
 * An answer without evidence besides the request passes with the score 0: no tool was used, so that there is nothing to
 * check against, and general knowledge may be right. The score is 1 minus the support of the claim that has least.
 *
 * `retry` blocks, which makes the attempt fail; the reasons quote the claims, up to 200 characters of each, so that the next
 * attempt can read which they are.
 */
export function hallucinationRail(
  { min_support, action }: HallucinationConfig,
  { onError }: { readonly onError: Rail["onError"] },
): Rail {
  return {
    name: "hallucination",
    on: new Set(["output"] as const),
    onError,
    check({ text, value }, { evidence, request }) {
      const given = evidence.filter((one) => one.trim() !== "");
      if (given.every((one) => one.trim() === request.trim())) return passFinding;
      const claims = claimsOf(text);
      const numbers = numberClaimsOf(value);
      if (claims.length === 0 && numbers.length === 0) return passFinding;
      const read = readEvidence(given);
      const rated = [
        ...claims.map((claim) => ({
          text: claim.text,
          spans: [{ start: claim.start, end: claim.end, label: "UNSUPPORTED" }],
          support: supportOf(claim, read),
        })),
        ...numbers.map((claim) => ({
          text: claim.text,
          spans: [],
          support: supportOfNumber(claim, read),
        })),
      ];
      const score = rated.reduce((most, { support }) => Math.max(most, 1 - support), 0);
      const unsupported = rated.filter(({ support }) => support < min_support);
      if (unsupported.length === 0) return { ...passFinding, score };
      return {
        verdict: action === "retry" ? "block" : "flag",
        score,
        spans: unsupported.flatMap(({ spans }) => spans),
        reasons: unsupported
          .slice(0, mostReasons)
          .map((claim) => `Nothing that the tools gave supports: "${shortened(claim.text)}"`),
      };
    },
  };
}

function shortened(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= longestQuote ? line : `${line.slice(0, longestQuote - 1)}…`;
}

/** A claim whose facts are all in the evidence has at least this much support, one without facts at least {@link vague}. */
const factual = 0.5;
/** Other words may say the same: a claim without facts needs about a quarter of its words to reach 0.5. */
const vague = 0.35;

/**
 * How far the evidence supports a claim, 0..1. What stands there word by word: 1. With facts (numbers, dates, identifiers,
 * quotations, names): 0.5 and more by the words it shares with one part of the evidence when all of them are found, else
 * below 0.5 by the share that is. Without facts: 0.35 and more by shared words.
 */
function supportOf(claim: Claim, evidence: Evidence): number {
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
function supportOfNumber({ text, words, number }: NumberClaim, evidence: Evidence): number {
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
