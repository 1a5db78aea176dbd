import { isRecord } from "../../state/is-record.ts";
import { contentWords } from "./evidence.ts";
import { decimalsOf, type FoundNumber } from "./numbers.ts";

/** A number in a structured answer, with the names that lead to it: `order total: 42`. */
export interface NumberClaim {
  readonly text: string;
  readonly words: readonly string[];
  readonly number: FoundNumber;
}

/** UTF-16 units of the names, the innermost first: about as many as a sentence has. */
const longestName = 300;

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
  const walk = (one: unknown, path: Path): void => {
    if (typeof one === "number" && Number.isFinite(one)) {
      if (!ownJudgement.test(path.name)) claims.push(claimOf(one, path));
    } else if (Array.isArray(one)) {
      for (const item of one) walk(item, path);
    } else if (isRecord(one)) {
      for (const [key, item] of Object.entries(one)) walk(item, pathTo(key, path));
    }
  };
  walk(value, { name: "", words: () => [] });
  return claims;
}

/** The names that lead to a value. */
interface Path {
  readonly name: string;
  /** The same list each time, for all numbers of a list. */
  readonly words: () => readonly string[];
}

function pathTo(key: string, { name: before }: Path): Path {
  const name = `${before} ${spelled(key)}`.trim().slice(-longestName);
  let words: readonly string[] | undefined;
  return { name, words: () => (words ??= contentWords(name)) };
}

function claimOf(value: number, { name, words }: Path): NumberClaim {
  const size = Math.abs(value);
  return {
    text: name === "" ? String(value) : `${name}: ${value}`,
    words: words(),
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
