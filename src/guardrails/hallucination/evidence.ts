import { sentencesOf } from "../injection/words.ts";
import { type Facts, factsOf, findDates, findNumbers, formsOfDate, rounded } from "./facts.ts";

/** A word that stands in more windows than this says nothing of where a claim comes from. */
const mostPlaces = 400;
/** Numbers after one label are looked at as a column: their sum and how many they are can be told. */
const longestColumn = 5000;

/** What an answer may rest on, made ready for many questions. */
export interface Evidence {
  /** Without differences of case, spaces and marks. */
  readonly plain: TextIndex;
  readonly words: ReadonlySet<string>;
  readonly identifiers: ReadonlySet<string>;
  readonly dates: ReadonlySet<string>;
  /** `05-15` for each date with a year. */
  readonly datedDays: ReadonlySet<string>;
  readonly numbers: NumberIndex;
  /** Sums and averages of the numbers of each label: `"price": 12` and `price 12` are of `price`. */
  readonly columnResults: RoundedNumbers;
  /** How many there are of something: labels that come again, lines, entries of lists. */
  readonly counts: ReadonlySet<number>;
  /** Numbers in the part of the evidence that has most of a claim's words. */
  numbersNear(words: readonly string[]): readonly number[];
  /** Share of the words that the best part of the evidence has, 0..1. */
  overlap(words: readonly string[]): number;
}

/** Each text is read some times over; linear in all of them together. No question goes through all of the evidence. */
export function readEvidence(texts: readonly string[]): Evidence {
  const all = texts.join("\n");
  const windows = texts.flatMap((text) =>
    sentencesOf(text).map(({ start, end }) => text.slice(start, end)),
  );
  const facts = factsOf(all);
  const places = placesOf(windows);
  const columns = columnsOf(all);
  const dates = new Set(findDates(all).flatMap(({ values }) => values.flatMap(formsOfDate)));
  const best = oncePerList((words) => bestWindow(words, places));
  return {
    plain: new TextIndex(plainText(all)),
    words: new Set((all.toLowerCase().match(/\p{L}+/gu) ?? []).map(rootOf)),
    identifiers: new Set(facts.identifiers.flatMap(partsOf)),
    dates,
    datedDays: new Set([...dates].flatMap((date) => (date.length === 10 ? [date.slice(5)] : []))),
    numbers: new NumberIndex(numbersIn(all, facts)),
    columnResults: new RoundedNumbers(resultsOf(columns)),
    counts: countsOf(all, columns),
    numbersNear: oncePerList((words) => {
      const { window } = best(words);
      const near = window === null ? [] : windows.slice(Math.max(0, window - 1), window + 2);
      return findNumbers(near.join("\n")).flatMap(({ values }) => values);
    }),
    overlap: (words) => (words.length === 0 ? 1 : best(words).shared / words.length),
  };
}

/** Words of more than three letters, as their roots, once each. */
export function contentWords(text: string): string[] {
  const words = text.toLowerCase().match(/\p{L}{4,}/gu) ?? [];
  return [...new Set(words.filter((word) => !empty.has(word)).map(rootOf))];
}

const empty = new Set(
  "that this with from have been will your they them their there here which what when where also into about were would could should than then some more most very just only each other over under such these those does done being both your yours please dass diese dieser dieses sind wird werden wurde haben eine einen einer eines nicht auch oder aber für über sich ihre ihren ihrer".split(
    " ",
  ),
);

/** Endings off, so that `flights` is `flight` and `cancelled` is `cancel`: rough, and the same on both sides. */
export function rootOf(word: string): string {
  const root = word.replace(/(?:'s|s'|ing|edly|ed|ies|es|s|ly|en|er|e|y)$/u, "");
  const kept = root.length >= 3 ? root : word;
  return kept.replace(/(\p{L})\1$/u, "$1");
}

/** Without case, marks of emphasis, and differences between spaces and between quotation marks. */
export function plainText(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/[*_`"“”„«»'’‘]+/g, "")
    .replace(/\s+/g, " ")
    .trim();
}

function numbersIn(text: string, facts: Facts): Set<number> {
  // Digits inside dates and identifiers count as well: a claim may name the number of `order-4471`.
  const inside = Array.from(text.matchAll(/\d+/g), ([digits]) => Number(digits));
  return new Set([...facts.numbers.flatMap(({ values }) => values), ...inside]);
}

function partsOf(identifier: string): string[] {
  return [identifier, ...identifier.split(/[./:#@-]+/).filter((part) => part.length > 1)];
}

function placesOf(windows: readonly string[]): Map<string, number[]> {
  const places = new Map<string, number[]>();
  windows.forEach((window, index) => {
    for (const word of contentWords(window)) {
      const list = places.get(word);
      if (list === undefined) places.set(word, [index]);
      else if (list.length <= mostPlaces) list.push(index);
    }
  });
  return places;
}

function bestWindow(
  words: readonly string[],
  places: ReadonlyMap<string, readonly number[]>,
): { readonly window: number | null; readonly shared: number } {
  const shared = new Map<number, number>();
  let everywhere = 0;
  for (const word of words) {
    const list = places.get(word) ?? [];
    if (list.length > mostPlaces) everywhere += 1;
    // A fact and what it is about often stand in lines next to each other.
    else
      for (const at of new Set(list.flatMap((one) => [one - 1, one, one + 1]))) {
        shared.set(at, (shared.get(at) ?? 0) + 1);
      }
  }
  let window: number | null = null;
  let most = 0;
  for (const [at, count] of shared) {
    if (count <= most) continue;
    most = count;
    window = Math.max(0, at);
  }
  return { window, shared: most + everywhere };
}

/** Remembers what was found for the words of one claim, all of whose numbers ask for it. */
function oncePerList<T extends object>(
  find: (words: readonly string[]) => T,
): (words: readonly string[]) => T {
  const known = new WeakMap<readonly string[], T>();
  return (words) => {
    const found = known.get(words) ?? find(words);
    known.set(words, found);
    return found;
  };
}

function resultsOf(columns: ReadonlyMap<string, readonly number[]>): number[] {
  return [...columns.values()].flatMap((column) => {
    if (column.length < 2) return [];
    const sum = column.reduce((total, value) => total + value, 0);
    return [sum, sum / column.length];
  });
}

function columnsOf(text: string): Map<string, number[]> {
  const columns = new Map<string, number[]>();
  const labelled =
    /(\p{L}[\p{L}_-]{0,40})["']?\s{0,3}[:=]?\s{0,3}["']?[$€£]?(-?\d+(?:\.\d+)?)(?![\d:.-])/gu;
  for (const [, label = "", digits] of text.matchAll(labelled)) {
    const list = columns.get(label.toLowerCase()) ?? [];
    if (list.length < longestColumn) list.push(Number(digits));
    columns.set(label.toLowerCase(), list);
  }
  return columns;
}

function countsOf(text: string, columns: ReadonlyMap<string, readonly number[]>): Set<number> {
  const counts = new Set([...columns.values()].map((list) => list.length));
  const keys = new Map<string, number>();
  for (const [key] of text.matchAll(/"[\p{L}_][\p{L}\p{N}_ -]{0,40}"(?=\s{0,3}:)/gu)) {
    keys.set(key, (keys.get(key) ?? 0) + 1);
  }
  for (const count of keys.values()) counts.add(count);
  for (const [list] of text.matchAll(/\[[^[\]{}]{1,4000}\]/g)) {
    counts.add(list.split(",").length);
  }
  for (const mark of [/^[ \t]*[-*•]\s/gmu, /^[ \t]*\d{1,3}[.)]\s/gmu, /^.*\S.*$/gmu]) {
    counts.add(text.match(mark)?.length ?? 0);
  }
  return counts;
}

/** Numbers that are looked up as they round; a look-up does not go through all of them. */
class RoundedNumbers {
  readonly #numbers: readonly number[];
  readonly #byDecimals = new Map<number, ReadonlySet<number>>();

  constructor(numbers: Iterable<number>) {
    this.#numbers = [...numbers].filter(Number.isFinite);
  }

  /** Whether one of the numbers rounds to `value`. */
  has(value: number, decimals: number): boolean {
    const known = this.#byDecimals.get(decimals);
    const all = known ?? new Set(this.#numbers.map((number) => rounded(number, decimals)));
    if (known === undefined) this.#byDecimals.set(decimals, all);
    return all.has(value);
  }
}

/** The numbers of the evidence. */
class NumberIndex {
  readonly #all: ReadonlySet<number>;
  readonly #sorted: Float64Array;
  readonly #fractions: RoundedNumbers;

  constructor(numbers: Iterable<number>) {
    this.#all = new Set(numbers);
    this.#sorted = Float64Array.from(this.#all).toSorted();
    this.#fractions = new RoundedNumbers(
      [...this.#all].filter((number) => !Number.isInteger(number)),
    );
  }

  has(value: number): boolean {
    return this.#all.has(value);
  }

  /** Whether a number that is not whole rounds to `value`. */
  hasRounded(value: number, decimals: number): boolean {
    return this.#fractions.has(value, decimals);
  }

  /** Whether a number differs from `value` by at most `difference`. */
  hasNear(value: number, difference: number): boolean {
    let low = 0;
    let high = this.#sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#sorted[middle] ?? Infinity) < value) low = middle + 1;
      else high = middle;
    }
    // The nearest number stands on one side or the other.
    return [low - 1, low].some((at) => Math.abs((this.#sorted[at] ?? NaN) - value) <= difference);
  }
}

/** Occurrences of one word that are kept, and compared with a part. */
const mostOccurrences = 400;
/** Characters that all searches for substrings may read, as a factor of the text's length. */
const searchFactor = 200;

const word = /[\p{L}\p{N}]+/gu;

/** A text in which many parts are looked up: in time linear in the text and the parts together, not in their product. */
class TextIndex {
  readonly #text: string;
  readonly #occurrences = new Map<string, number[]>();
  readonly #substrings = new Map<string, boolean>();
  #left: number;

  constructor(text: string) {
    this.#text = text;
    this.#left = searchFactor * text.length;
    for (const { 0: one, index } of text.matchAll(word)) {
      const list = this.#occurrences.get(one);
      if (list === undefined) this.#occurrences.set(one, [index]);
      else if (list.length < mostOccurrences) list.push(index);
    }
  }

  /**
   * Whether a part stands there, and not within a longer word or number. A part whose rarest word occurs more than 400 times
   * is looked for at the first 400.
   */
  hasPhrase(part: string): boolean {
    let rarest: { readonly at: number; readonly places: readonly number[] } | null = null;
    for (const { 0: one, index } of part.matchAll(word)) {
      const places = this.#occurrences.get(one);
      if (places === undefined) return false;
      if (rarest === null || places.length < rarest.places.length) rarest = { at: index, places };
    }
    if (rarest === null) return part === "";
    const { at, places } = rarest;
    return places.some((place) => this.#isWhole(part, place - at));
  }

  /** Whether a part stands there, be it within a word. False for what is not read any more: 200 times the text in all. */
  includes(part: string): boolean {
    const known = this.#substrings.get(part);
    if (known !== undefined) return known;
    const found = this.hasPhrase(part) || this.#search(part);
    this.#substrings.set(part, found);
    return found;
  }

  #search(part: string): boolean {
    if (this.#left <= 0) return false;
    const at = this.#text.indexOf(part);
    this.#left -= at < 0 ? this.#text.length : at;
    return at >= 0;
  }

  #isWhole(part: string, at: number): boolean {
    if (at < 0 || !this.#text.startsWith(part, at)) return false;
    const after = this.#text.slice(at + part.length, at + part.length + 2);
    const numberGoesOn = /\d$/.test(part) && /^[.,]\d/.test(after);
    return !isWordCharacter(this.#text[at - 1]) && !isWordCharacter(after[0]) && !numberGoesOn;
  }
}

function isWordCharacter(character: string | undefined): boolean {
  return character !== undefined && /[\p{L}\p{N}]/u.test(character);
}
