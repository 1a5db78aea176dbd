import type { Redactions } from "../state/rails.ts";

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

/**
 * Finds the longest of many keys at a place of a text, in a time that does not grow with their number: a radix tree, as of
 * Morrison (1968), PATRICIA.
 */
export class PrefixTree<T> {
  readonly #root: Branch<T> = {};

  /** Of one key the first value counts. */
  add(key: string, value: T): void {
    let branch = this.#root;
    let at = 0;
    while (at < key.length) {
      branch.next ??= new Map();
      const code = key.charCodeAt(at);
      const edge = branch.next.get(code);
      if (edge === undefined) {
        branch.next.set(code, { text: key.slice(at), to: { value: { of: value } } });
        return;
      }
      const shared = sharedLength(edge.text, key, at);
      if (shared < edge.text.length) {
        const rest = { text: edge.text.slice(shared), to: edge.to };
        const to = { next: new Map([[rest.text.charCodeAt(0), rest]]) };
        branch.next.set(code, { text: edge.text.slice(0, shared), to });
        branch = to;
      } else {
        branch = edge.to;
      }
      at += shared;
    }
    branch.value ??= { of: value };
  }

  longestAt(text: string, start: number, spelling?: Spelling): PrefixMatch<T> | null {
    let found: PrefixMatch<T> | null = null;
    let branch = this.#root;
    let edge: Edge<T> | undefined;
    let along = 0;
    let gaps = 0;
    for (let at = start; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      const next: Edge<T> | undefined = edge ?? branch.next?.get(code);
      if (next === undefined || next.text.charCodeAt(along) !== code) {
        gaps += 1;
        const isGap = spelling !== undefined && at > start && spelling.isGap(code);
        if (!isGap || gaps > spelling.mostGaps) return found;
        continue;
      }
      gaps = 0;
      along += 1;
      if (along < next.text.length) {
        edge = next;
        continue;
      }
      branch = next.to;
      edge = undefined;
      along = 0;
      const end = at + 1;
      const isEnd =
        spelling === undefined || end === text.length || spelling.isAfter(text.charCodeAt(end));
      if (branch.value !== undefined && isEnd) found = { value: branch.value.of, end };
      if (branch.next === undefined) return found;
    }
    return found;
  }
}

/** Puts the marks of known values in their place, in one pass whatever their number. */
export class KnownValueIndex {
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
  placeholderOfNumber(number: number): string | undefined {
    const present = this.#numbers.get(number);
    if (present !== undefined) return present;
    const text = String(number);
    const found = text.length < shortestHidden ? null : this.#longestAt(text, 0, text);
    return found?.end === text.length ? found.value : undefined;
  }

  /** A mark that stands in the text, one from before or one just put there, is not looked into. */
  redact(text: string, find: (mark: string) => Redaction | undefined): string {
    if (text.length < shortestHidden) return text;
    if (!text.includes("<")) return this.#hideIn(text, 0);
    let done = "";
    let at = 0;
    for (const { 0: mark, index } of text.matchAll(placeholderPattern)) {
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

/** What stands at a place of a text. */
interface PrefixMatch<T> {
  readonly value: T;
  /** After its last character. */
  readonly end: number;
}

/** How a text may differ from a key. */
interface Spelling {
  /** Whether a character between two of the key is passed over. */
  readonly isGap: (code: number) => boolean;
  /** How many of them at most, one after the other. */
  readonly mostGaps: number;
  /** Returns whether the text may continue with this character after a key. */
  readonly isAfter: (code: number) => boolean;
}

interface Edge<T> {
  /** Of several characters where no other key parts from it within them. */
  readonly text: string;
  readonly to: Branch<T>;
}

interface Branch<T> {
  value?: { readonly of: T };
  next?: Map<number, Edge<T>>;
}

function sharedLength(one: string, other: string, from: number): number {
  let length = 0;
  while (length < one.length && one.charCodeAt(length) === other.charCodeAt(from + length)) {
    length += 1;
  }
  return length;
}

/** A text of a mark's form: `<EMAIL_1>`. Longer numbers are none, so that one more than any number is one too. */
export const placeholderPattern = /<[A-Z][A-Z0-9_]{0,63}_[1-9]\d{0,8}>/g;

const longestLabel = 64;

/** Labels of placeholders. A custom rail may use any label; a placeholder's label must match. */
export function placeholderLabel(label: string): string {
  const name = label.toUpperCase().replaceAll(/[^A-Z0-9_]/g, "_");
  return (/^[A-Z]/.test(name) ? name : `X${name}`).slice(0, longestLabel);
}

/** What stands before a mark's number: its label, cut where the suffix needs the room, since that tells marks apart. */
export function placeholderStem(label: string, suffix: string): string {
  return label.slice(0, longestLabel - suffix.length) + suffix;
}

export function stemOf(mark: string): string {
  return mark.slice(1, mark.lastIndexOf("_"));
}

export function numberOf(mark: string): number {
  return Number(mark.slice(mark.lastIndexOf("_") + 1, -1));
}
