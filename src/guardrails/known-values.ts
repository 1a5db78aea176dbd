import type { Redactions } from "../state/redactions.ts";
import { markForm } from "./mark.ts";
import { PrefixTree, type PrefixMatch, type Spelling } from "./prefix-tree.ts";

type Redaction = Redactions[string];

/** Shorter values are not looked for: they stand everywhere by chance. */
const shortestHidden = 4;

/** Longer values are looked for one by one, so that what a text takes does not grow with their length. */
const longestInTree = 256;

/** Numbers that are the same whatever stands between their digits. */
const groupedLabels = new Set(["CARD", "IBAN", "PHONE", "SSN"]);

const gapSigns = new Set(Array.from(" ().-", (sign) => sign.charCodeAt(0)));

/** Other groups: up to three signs between two digits, and no digit or letter of a longer number around. */
const regrouped: Spelling = {
  isGap: (code) => gapSigns.has(code),
  mostGaps: 3,
  isAfter: (code) => !isSign(code),
};
const regroupedAnyCase: Spelling = {
  ...regrouped,
  isAfter: (code) => !isSign(code) && !isLower(code),
};

/** Puts the marks of known values in their place, in one pass whatever their number. */
export class KnownValues {
  /** Whether there is nothing to look for. */
  isEmpty = true;
  readonly #numbers = new Map<number, string>();
  /** Longest first. */
  readonly #long: { readonly value: string; readonly mark: string }[] = [];
  readonly #exact = new PrefixTree<string>();
  #foldedExact: PrefixTree<string> | null = null;
  #grouped: PrefixTree<string> | null = null;
  #foldedGrouped: PrefixTree<string> | null = null;

  constructor(redactions: Redactions) {
    const hidden = Object.entries(redactions).filter(
      ([mark, { value }]) => value !== mark && value.length >= shortestHidden,
    );
    for (const [mark, redaction] of hidden)
      if (redaction.is_number !== true) this.#add(mark, redaction);
    // Of one value that came as a text and as a number each is given back as what it was.
    for (const [mark, redaction] of hidden) {
      if (redaction.is_number !== true) continue;
      this.#add(mark, redaction);
      this.#numbers.set(Number(redaction.value), mark);
    }
    this.#long.sort((a, b) => b.value.length - a.value.length);
  }

  #add(mark: string, { label, value }: Redaction): void {
    this.isEmpty = false;
    if (value.length > longestInTree) {
      this.#long.push({ value, mark });
      return;
    }
    this.#exact.add(value, mark);
    if (label === "EMAIL") (this.#foldedExact ??= new PrefixTree()).add(folded(value), mark);
    const signs = value.replaceAll(/[^A-Z0-9+]/gi, "");
    if (!groupedLabels.has(label) || signs.length < shortestHidden) return;
    if (label === "IBAN") (this.#foldedGrouped ??= new PrefixTree()).add(folded(signs), mark);
    else (this.#grouped ??= new PrefixTree()).add(signs, mark);
  }

  /** The mark of a number that is a known value; undefined where it is none. */
  markOfNumber(number: number): string | undefined {
    const present = this.#numbers.get(number);
    if (present !== undefined) return present;
    const text = String(number);
    const found = text.length < shortestHidden ? null : this.#longestAt(text, 0, text);
    return found?.end === text.length ? found.value : undefined;
  }

  /** A mark that stands in the text, one from before or one just put there, is not looked into. */
  hide(text: string, find: (mark: string) => Redaction | undefined): string {
    if (text.length < shortestHidden) return text;
    if (!text.includes("<")) return this.#hideIn(text, 0);
    let done = "";
    let at = 0;
    for (const { 0: mark, index } of text.matchAll(markForm)) {
      const redaction = find(mark);
      if (redaction === undefined || redaction.value === mark) continue;
      done += this.#hideIn(text.slice(at, index), 0) + mark;
      at = index + mark.length;
    }
    return done + this.#hideIn(text.slice(at), 0);
  }

  /** @param from the first of the long values that may still stand in the text */
  #hideIn(text: string, from: number): string {
    for (let at = from; at < this.#long.length; at += 1) {
      const { value, mark } = this.#long[at] ?? { value: "", mark: "" };
      if (value.length > text.length || !text.includes(value)) continue;
      return text
        .split(value)
        .map((part) => this.#hideIn(part, at + 1))
        .join(mark);
    }
    const lower = this.#foldedExact === null && this.#foldedGrouped === null ? text : folded(text);
    let done = "";
    let begin = 0;
    for (let at = 0; at <= text.length - shortestHidden;) {
      const found = this.#longestAt(text, at, lower);
      if (found === null) {
        at += 1;
        continue;
      }
      done += text.slice(begin, at) + found.value;
      begin = found.end;
      at = begin;
    }
    return begin === 0 ? text : done + text.slice(begin);
  }

  #longestAt(text: string, at: number, lower: string): PrefixMatch<string> | null {
    const before = at === 0 ? 0 : text.charCodeAt(at - 1);
    let found = this.#exact.longestAt(text, at);
    if (this.#foldedExact !== null) found = longer(found, this.#foldedExact.longestAt(lower, at));
    if (isSign(before)) return found;
    if (this.#grouped !== null) {
      found = longer(found, this.#grouped.longestAt(text, at, regrouped));
    }
    if (this.#foldedGrouped !== null && !isLower(before)) {
      found = longer(found, this.#foldedGrouped.longestAt(lower, at, regroupedAnyCase));
    }
    return found;
  }
}

/** The first of two that are as long. */
function longer(
  one: PrefixMatch<string> | null,
  other: PrefixMatch<string> | null,
): PrefixMatch<string> | null {
  if (one === null || other === null) return one ?? other;
  return other.end > one.end ? other : one;
}

function isSign(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90);
}

function isLower(code: number): boolean {
  return code >= 97 && code <= 122;
}

/** In lower case, with every character in its place. */
function folded(text: string): string {
  // What a sigma becomes depends on what stands after it.
  const lower = text.toLowerCase().replaceAll("ς", "σ");
  if (lower.length === text.length) return lower;
  return Array.from({ length: text.length }, (_, at) => {
    const one = text.charAt(at).toLowerCase().replace("ς", "σ");
    return one.length === 1 ? one : text.charAt(at);
  }).join("");
}
