import { isRecord } from "../../state/is-record.ts";
import { contentWords } from "./evidence.ts";
import { decimalsOf, type FoundNumber } from "./numbers.ts";

/** A number in a structured answer, with the names that lead to it: `order total: 42`. */
export interface NumberClaim {
  readonly text: string;
  readonly words: readonly string[];
  readonly number: FoundNumber;
}

/** What the agent says of its own work and not of what it found. */
const ownJudgement =
  /(?:^|\s)(?:confidence|certainty|probability|likelihood|relevance|priority|rank|index|step|attempt)$/;

/**
 * The numbers of a value that is no text, of any size. In a value of JSON no reading is unclear, `1.234` is not 1234; the
 * sign is left aside, as it is in evidence. Numbers under a name such as `confidence`, which the agent gives its own work,
 * are no claims. Linear in the value.
 */
export function numberClaimsOf(value: unknown): NumberClaim[] {
  const claims: NumberClaim[] = [];
  const walk = (one: unknown, name: string): void => {
    if (typeof one === "number" && Number.isFinite(one)) {
      if (!ownJudgement.test(name)) claims.push(claimOf(one, name));
    } else if (Array.isArray(one)) {
      for (const item of one) walk(item, name);
    } else if (isRecord(one)) {
      for (const [key, item] of Object.entries(one)) walk(item, `${name} ${spelled(key)}`.trim());
    }
  };
  walk(value, "");
  return claims;
}

function claimOf(value: number, name: string): NumberClaim {
  const size = Math.abs(value);
  return {
    text: name === "" ? String(value) : `${name}: ${value}`,
    words: contentWords(name),
    number: {
      start: 0,
      end: 0,
      values: [size],
      decimals: decimalsOf(size),
      percent: /(?:^|\s)(?:percent|percentage|prozent)(?:\s|$)/.test(name),
    },
  };
}

/** `unitPrice` and `unit_price` as `unit price`. */
function spelled(key: string): string {
  return key
    .replace(/(\p{Ll})(\p{Lu})/gu, "$1 $2")
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim()
    .toLowerCase();
}
