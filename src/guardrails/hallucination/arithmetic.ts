import type { Evidence } from "./evidence.ts";
import { type FoundNumber, rounded } from "./numbers.ts";

const cue =
  /\b(?:total|totals|totalling|sum|altogether|combined|together|in all|overall|difference|more|less|fewer|cheaper|longer|save[sd]?|saving|left|remaining|remain|balance|average|mean|per|each|percent|times|twice|double|half|increase[sd]?|decrease[sd]?|rose|fell|grew|gesamt|insgesamt|summe|zusammen|differenz|durchschnitt|prozent|mehr|weniger|rest|jeweils)\b|[%+×=]/iu;
/** Of so many numbers every pair is tried. */
const mostOperands = 40;

/**
 * Whether a number follows from others: rounded, as a percentage of a share, as how many there are of something (up to
 * 1,000), and, where the claim speaks of reckoning (total, difference, average, percent …), as sum, difference, product or
 * percentage of two numbers, or as sum or average of a column. The two have to stand in the claim or in the part of the
 * evidence that is nearest to it: of all numbers in a long evidence nearly everything follows.
 */
export function isDerivable(
  found: FoundNumber,
  claim: {
    readonly text: string;
    readonly words: readonly string[];
    readonly numbers: readonly FoundNumber[];
  },
  evidence: Evidence,
): boolean {
  const { values, decimals, percent } = found;
  const isValue = (result: number) =>
    Number.isFinite(result) && values.some((value) => rounded(result, decimals) === value);
  if (percent && values.some((value) => evidence.numbers.has(rounded(value / 100, 6)))) return true;
  if (values.some((value) => value <= 1000 && evidence.counts.has(value))) return true;
  if (!cue.test(claim.text)) return false;
  const near = [
    ...claim.numbers.filter((other) => other !== found).flatMap((other) => other.values),
    ...evidence.numbersNear(claim.words),
  ];
  const operands = [...new Set(near)].slice(0, mostOperands);
  for (const a of operands) {
    for (const b of operands) {
      if (isValue(a + b) || isValue(a - b) || isValue(a * b)) return true;
      if (b !== 0 && (isValue((100 * a) / b) || isValue((100 * (a - b)) / b))) return true;
    }
  }
  return values.some((value) => evidence.columnResults.has(value, decimals));
}
