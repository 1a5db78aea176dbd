import { isRecord } from "../../values/json.ts";
import { sentencesOf } from "../injection/words.ts";
import { contentWords, type Evidence } from "./evidence.ts";
import { decimalsOf, type FoundNumber, rounded } from "./facts.ts";

/** A statement of an answer that can be right or wrong. */
export interface Claim {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

const courtesy =
  /^(?:hi|hello|hey|dear|thanks?|thank you|you're welcome|welcome|sure|certainly|of course|great|sorry|i(?:'m| am) sorry|i apologi[sz]e|unfortunately,? i (?:can|could|do)|glad|happy|good (?:morning|afternoon|evening|day)|best|kind regards|regards|hallo|guten|danke|vielen dank|gern|natürlich|entschuldigung|viele grüße)\b/iu;
const offer =
  /\b(?:let me know|feel free|would you like|do you want|shall i|should i|can i help|i can (?:also )?(?:help|look|check|search|assist)|i could (?:also )?|if you (?:need|want|like|have|would)|anything else|please (?:provide|tell|confirm|specify|share|note)|could you|lassen sie mich|möchten sie|soll ich|falls sie|wenn sie|bitte (?:geben|nennen|bestätigen))\b/iu;
const hedge =
  /\b(?:i (?:don't|do not|cannot|can't|could not|couldn't|am not|was not able|wasn't able) (?:know|have|find|sure|see|to)?|not (?:sure|certain)|i (?:think|guess|believe|assume)|no information|perhaps|maybe|ich weiß nicht|ich konnte|vielleicht|vermutlich)\b/iu;

/**
 * Sentences, entries of lists and lines of an answer that state something. Questions, headings, greetings, offers and
 * hedges state nothing, unless a number stands in them.
 */
export function claimsOf(answer: string): Claim[] {
  return sentencesOf(answer).flatMap(({ start, end }) => {
    const raw = answer.slice(start, end);
    const marker =
      /^(?:[-*+•]\s+|\d{1,3}[.)](?:\s+|$)|#{1,6}\s+|>\s+|\|\s*)+/u.exec(raw)?.[0] ?? "";
    const text = raw.slice(marker.length);
    return isClaim(text, marker) ? [{ text, start: start + marker.length, end }] : [];
  });
}

function isClaim(text: string, marker: string): boolean {
  const plain = text.replace(/[*_`~]+/g, "").trim();
  const words = plain.match(/\p{L}+/gu)?.length ?? 0;
  if (plain === "" || /\?["'”’)]*$/.test(plain)) return false;
  if (/\d/.test(plain)) return true;
  if (marker.includes("#") || plain.endsWith(":") || words < 2) return false;
  return !courtesy.test(plain) && !offer.test(plain) && !hedge.test(plain);
}

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

const cue =
  /\b(?:total|totals|totalling|sum|altogether|combined|together|in all|overall|difference|more|less|fewer|cheaper|longer|save[sd]?|saving|left|remaining|remain|balance|average|mean|per|each|percent|times|twice|double|half|increase[sd]?|decrease[sd]?|rose|fell|grew|gesamt|insgesamt|summe|zusammen|differenz|durchschnitt|prozent|mehr|weniger|rest|jeweils)\b|[%+×=]/iu;
/** Maximum number of figures of which all pairs are tried. */
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
