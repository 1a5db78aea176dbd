import type { Redactions } from "../state/rails.ts";
import {
  placeholderPattern,
  placeholderLabel,
  placeholderStem,
  numberOf,
  stemOf,
} from "./known-values.ts";
import type { RailSpan } from "../definition/rail.ts";
import { unredactText, valueOfPlaceholder } from "./redaction.ts";

type Redaction = Redactions[string];

/** How many marks a book has at most by default: it is kept with every checkpoint, and read whole. */
const mostMarks = 10_000;

export interface RedactionRegistryOptions {
  /** Put before the number of every new mark, such as `_B1`, where others give marks at the same time. Default none. */
  readonly suffix?: string;
  /** How many marks it has at most, those that stand for themselves included. Default 10,000. */
  readonly limit?: number;
}

/**
 * The redactions so far, over all turns, and the way to add more. One value under one label has one placeholder; it must
 * the same to the letter, since the mark gives back what stood there. New numbers go on after the highest.
 *
 * Once it is full, further values get a placeholder without a number, `<EMAIL>`, which is never unredacted.
 */
export class RedactionRegistry {
  #known: Redactions;
  readonly #added = new Map<string, Redaction>();
  readonly #suffix: string;
  readonly #limit: number;
  #index: MarkIndex | null = null;

  constructor(
    redactions: Redactions,
    { suffix = "", limit = mostMarks }: RedactionRegistryOptions = {},
  ) {
    this.#known = redactions;
    this.#suffix = suffix;
    this.#limit = limit;
  }

  /** All that is known; the same object as long as nothing is added. */
  get redactions(): Redactions {
    if (this.#added.size > 0) {
      this.#known = { ...this.#known, ...Object.fromEntries(this.#added) };
      this.#added.clear();
    }
    return this.#known;
  }

  /** Another book that begins with what this one has. */
  copy(): RedactionRegistry {
    return new RedactionRegistry(this.redactions, { suffix: this.#suffix, limit: this.#limit });
  }

  /** Enters what has no mark here yet. */
  enter(redactions: Redactions): void {
    for (const [mark, redaction] of Object.entries(redactions)) {
      if (this.#find(mark) === undefined) this.#put(mark, redaction);
    }
  }

  /**
   * Reserves all texts in the form of placeholders that others wrote, so that their numbers are
   * never given to values. To be called with every text that is checked, before the first redaction.
   */
  reserve(text: string): void {
    if (!text.includes("<")) return;
    for (const [mark] of text.matchAll(placeholderPattern)) {
      if (this.#find(mark) === undefined && !this.#isFull()) {
        this.#put(mark, { label: stemOf(mark), value: mark });
      }
    }
  }

  /**
   * The text with a mark in the place of each span. A mark of this book in it is left as it is, and a span that cuts one
   * is widened around it.
   */
  redact(text: string, spans: readonly RailSpan[]): string {
    this.reserve(text);
    const marks = [...text.matchAll(placeholderPattern)]
      .filter(([mark]) => valueOfPlaceholder(mark, this.#find(mark)) !== undefined)
      .map(({ 0: mark, index }) => ({ start: index, end: index + mark.length }));
    const find = (mark: string) => this.#find(mark);
    let done = "";
    let at = 0;
    for (const { start, end, label } of placesOf(text, spans, marks)) {
      const value = unredactText(text.slice(start, end), find);
      done += text.slice(at, start) + this.#markOf({ label: placeholderLabel(label), value });
      at = end;
    }
    return done + text.slice(at);
  }

  /** The mark of a number, of which spans can only take the whole. */
  redactNumber(digits: string, label: string): string {
    return this.#markOf({ label: placeholderLabel(label), value: digits, is_number: true });
  }

  #markOf(redaction: Redaction): string {
    const index = this.#indexed();
    const present = index.markOf(redaction);
    if (present !== undefined) return present;
    const { label } = redaction;
    if (this.#isFull()) return `<${label}>`;
    const stem = placeholderStem(label, this.#suffix);
    let number = index.highest(stem) + 1;
    while (this.#find(`<${stem}_${number}>`) !== undefined) number += 1;
    const mark = `<${stem}_${number}>`;
    this.#put(mark, redaction);
    return mark;
  }

  #find(mark: string): Redaction | undefined {
    return (
      this.#added.get(mark) ?? (Object.hasOwn(this.#known, mark) ? this.#known[mark] : undefined)
    );
  }

  #put(mark: string, redaction: Redaction): void {
    this.#indexed().add(mark, redaction);
    this.#added.set(mark, redaction);
  }

  #isFull(): boolean {
    return this.#indexed().size >= this.#limit;
  }

  /** Most books are only looked into, so that it is made when the first mark is. */
  #indexed(): MarkIndex {
    this.#index ??= new MarkIndex(this.redactions);
    return this.#index;
  }
}

/** Which marks there are; those that stand for themselves are counted, and do no more. */
class MarkIndex {
  size = 0;
  readonly #marks = new Map<string, string>();
  readonly #highest = new Map<string, number>();

  constructor(redactions: Redactions) {
    for (const [mark, redaction] of Object.entries(redactions)) this.add(mark, redaction);
  }

  add(mark: string, redaction: Redaction): void {
    this.size += 1;
    if (redaction.value === mark) return;
    const key = keyOf(redaction);
    if (!this.#marks.has(key)) this.#marks.set(key, mark);
    const stem = stemOf(mark);
    this.#highest.set(stem, Math.max(this.highest(stem), numberOf(mark)));
  }

  markOf(redaction: Redaction): string | undefined {
    return this.#marks.get(keyOf(redaction));
  }

  highest(stem: string): number {
    return this.#highest.get(stem) ?? 0;
  }
}

function keyOf({ label, value, is_number: isNumber }: Redaction): string {
  return `${label} ${isNumber === true ? "number" : "text"} ${value}`;
}

interface Place {
  readonly start: number;
  readonly end: number;
}

/** Spans in order, without empty ones and overlaps, none of which cuts a mark or is nothing but one. */
function placesOf(
  text: string,
  spans: readonly RailSpan[],
  marks: readonly Place[],
): readonly RailSpan[] {
  const places: RailSpan[] = [];
  let next = 0;
  let last = 0;
  for (const span of spans.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    let start = Math.max(span.start, last);
    let end = Math.min(span.end, text.length);
    if (start >= end) continue;
    while (next < marks.length && (marks[next]?.end ?? 0) <= start) next += 1;
    const first = marks[next];
    let isMark = false;
    for (let at = next; at < marks.length; at += 1) {
      const mark = marks[at];
      if (mark === undefined || mark.start >= end) break;
      start = Math.min(start, mark.start);
      end = Math.max(end, mark.end);
      isMark = mark === first && start === mark.start && end === mark.end;
    }
    if (isMark) continue;
    places.push({ start, end, label: span.label });
    last = end;
  }
  return places;
}
