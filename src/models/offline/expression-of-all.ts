import { numberOf, type Outcome } from "./outcome.ts";

const all =
  /\b(?:both|them|these|those|all|(?:the|all) (?:\w+ )?(?:results|numbers|counts|totals|sums|figures))\b/i;
const operators: readonly (readonly [RegExp, (numbers: readonly string[]) => string | null])[] = [
  [/\b(?:average|mean)\b/i, (numbers) => `(${numbers.join(" + ")}) / ${numbers.length}`],
  [/\b(?:add|sum|total|plus)\b/i, (numbers) => numbers.join(" + ")],
  [/\b(?:multiply|product)\b/i, (numbers) => numbers.join(" * ")],
  [
    /\b(?:difference|subtract)\b/i,
    (numbers) => (numbers.length === 2 ? numbers.join(" - ") : null),
  ],
];

/** "add both", "the average of these": the expression over the numbers of all results; null for anything else. */
export function expressionOfAll(text: string, outcomes: readonly Outcome[]): string | null {
  if (!all.test(text) || /\d/.test(text)) return null;
  const numbers = outcomes.flatMap((one) => (one.failed ? [] : (numberOf(one) ?? [])));
  if (numbers.length < 2) return null;
  const plain = numbers.map((number) => (number.startsWith("-") ? `(${number})` : number));
  return operators.find(([verb]) => verb.test(text))?.[1](plain) ?? null;
}
