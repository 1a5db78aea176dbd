import { isRecord } from "../../values/json.ts";
import { attempt, plainValue } from "./preview-string.ts";

/** Objects, lists and fields that are looked at. */
const visitedNodes = 50_000;
/** Characters of all texts that are looked at. */
const readCharacters = 2_000_000;
/** Items of a long list that are looked at: from its head, and from its tail. */
const headItems = 3000;
const tailItems = 500;
/** Longer texts are not parsed as JSON. */
const parsedCharacters = 1_000_000;
const maxDepth = 50;

/**
 * What a next tool call may need from a result, in its order and without duplicates, at most `limit`: identifiers, codes,
 * dates, addresses, words of enumerations such as `one_way`, and the keys of dictionaries. Prices, counts, times of day
 * and prose are not among it. At a cost that is bounded: of long lists and texts the head and the tail are looked at.
 * Never throws.
 */
export function salientValues(value: unknown, limit: number): readonly string[] {
  const search = new Search(limit);
  search.visit(value, 0);
  return search.found.slice(0, Math.max(0, limit));
}

class Search {
  readonly #found = new Set<string>();
  readonly #limit: number;
  readonly #seen = new Set<object>();
  #nodes = visitedNodes;
  #characters = readCharacters;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get found(): readonly string[] {
    return [...this.#found];
  }

  get #isOver(): boolean {
    return this.#found.size >= this.#limit || this.#nodes <= 0 || this.#characters <= 0;
  }

  visit(given: unknown, depth: number): void {
    this.#nodes -= 1;
    if (this.#isOver || depth > maxDepth) return;
    const value = given === undefined ? null : plainValue(given);
    if (typeof value === "string") this.#string(value, depth);
    else if (typeof value === "number") {
      if (Number.isInteger(value) && Math.abs(value) >= 10_000) this.#found.add(String(value));
    } else if (typeof value === "object" && value !== null && !this.#seen.has(value)) {
      this.#seen.add(value);
      attempt(() => this.#container(value, depth));
    }
  }

  #string(text: string, depth: number): void {
    if (isSalientValue(text)) this.#found.add(text);
    else if (text.length > 2 && !/^\d{1,2}:\d{2}\S*$/.test(text)) {
      const parsed = this.#parsed(text);
      this.#characters -= Math.min(text.length, 200_000);
      if (parsed !== null) this.visit(parsed, depth + 1);
      else for (const word of salientWords(text)) this.#found.add(word);
    }
  }

  #parsed(text: string): object | null {
    if (text.length > parsedCharacters || !/^\s*[[{]/.test(text)) return null;
    try {
      return JSON.parse(text) as object;
    } catch {
      return null;
    }
  }

  #container(value: object, depth: number): void {
    if (value instanceof Map) this.#items([...head(value)].flat(), depth);
    else if (value instanceof Set) this.#items([...head(value)], depth);
    else if (Array.isArray(value)) this.#items(value, depth);
    else this.#fields(value as Record<string, unknown>, depth);
  }

  #items(items: readonly unknown[], depth: number): void {
    const { length } = items;
    const gapFrom = length > headItems + tailItems ? headItems : length;
    for (let index = 0; index < gapFrom && !this.#isOver; index += 1) {
      this.visit(
        attempt(() => items[index]),
        depth + 1,
      );
    }
    const tailFrom = Math.max(gapFrom, length - tailItems);
    for (let index = tailFrom; index < length && !this.#isOver; index += 1) {
      this.visit(
        attempt(() => items[index]),
        depth + 1,
      );
    }
  }

  #fields(object: Record<string, unknown>, depth: number): void {
    const keys = Object.keys(object);
    const kept =
      keys.length > headItems + tailItems
        ? [...keys.slice(0, headItems), ...keys.slice(-tailItems)]
        : keys;
    const fields = kept.map((key) => [key, attempt(() => object[key])] as const);
    const isDictionary = areAlike(fields.map(([, own]) => own));
    for (const [key, own] of fields) {
      if (this.#isOver) return;
      if (isStrong(key) || (isDictionary && isSalientValue(key))) this.#found.add(key);
      this.visit(own, depth + 1);
    }
  }
}

/** All numbers, all truths or all objects with keys in common: their keys are not the names of fields. */
function areAlike(values: readonly unknown[]): boolean {
  const [first] = values;
  if (values.length < 2) return false;
  if (typeof first === "number" || typeof first === "boolean") {
    return values.every((value) => typeof value === typeof first);
  }
  if (!isRecord(first)) return false;
  const [key = ""] = Object.keys(first);
  return values.every((value) => isRecord(value) && Object.hasOwn(value, key));
}

function* head<T>(values: Iterable<T>): Iterable<T> {
  let left = headItems;
  for (const value of values) {
    if (left <= 0) return;
    left -= 1;
    yield value;
  }
}

/** Characters of a text that are looked at: its head and its tail. */
const headCharacters = 150_000;
const tailCharacters = 50_000;

/** Lengths of what is taken for an identifier. Addresses of pages may be longer. */
const shortest = 3;
const longest = 120;
const longestUrl = 300;

const token = /[a-z][a-z0-9+.-]{1,20}:\/\/[^\s"'<>`]+|[^\s"'<>`(){}[\],;|=*…]+/gi;
const measure =
  /^\d+(?:st|nd|rd|th|s|x|k|m|b|g|kg|km|cm|mm|px|gb|mb|kb|tb|h|hrs?|min|ms|am|pm|d|w|y|usd|eur)$/i;

/**
 * What a next tool call may need from a text, in its order: identifiers, codes, dates, addresses of pages, mail and files.
 * Of a very long text only its head and its tail are looked at.
 */
export function salientWords(text: string): ReadonlySet<string> {
  const found = new Set<string>();
  if (text.length <= headCharacters + tailCharacters) addWords(text, found);
  else {
    addWords(text.slice(0, headCharacters), found);
    addWords(text.slice(-tailCharacters), found);
  }
  return found;
}

function addWords(text: string, found: Set<string>): void {
  for (const { 0: raw, index } of text.matchAll(token)) {
    const word = raw.replace(/^[:!?]+/, "").replace(/[.,:;!?)\]}]{1,9}$/, "");
    if (word.length < shortest || word.length > longestUrl) continue;
    // Keys of JSON that was cut off, and of the like, name what follows them.
    const isKey =
      raw.endsWith(":") ||
      /^["']?\s{0,2}:/.test(text.slice(index + raw.length, index + raw.length + 4));
    if (isKey ? isStrong(word) : isSalientWord(word)) found.add(word);
    else if (!isKey && word.includes(":") && !isTime(word)) {
      for (const part of word.split(":")) if (isSalientWord(part)) found.add(part);
    }
  }
}

/** Of words in prose only those that are seldom just words. */
function isSalientWord(word: string): boolean {
  if (isUrl(word)) return word.length <= longestUrl;
  if (!/^[\p{L}\p{N}_#@/~.+-][\p{L}\p{N}_#@/.:+%-]*$/u.test(word)) return false;
  if (isTimed(word)) return true;
  if (word.includes(":")) return false;
  return (
    isSalientValue(word) &&
    !/^\p{L}+(?:[-/]\p{L}+)+$/u.test(word) &&
    !/^\p{L}+\.\p{L}+$/u.test(word)
  );
}

/** Whether a string, which is a value of its own, may be what a tool call names: not a price, a count, a time of day. */
function isSalientValue(word: string): boolean {
  if (isUrl(word)) return word.length <= longestUrl && !/\s/.test(word);
  if (word.length < shortest || word.length > longest || /[\s"<>{}]/.test(word)) return false;
  if (isTimed(word)) return true;
  if (isTime(word) || measure.test(word)) return false;
  if (/^[^\p{L}]+$/u.test(word)) return isNumberLike(word);
  if (/\d/.test(word)) return /^[\p{L}\p{N}_#@/~.:+%-]+$/u.test(word);
  return isCode(word) || isName(word);
}

/** A word with enough digits or capitals to be an identifier even where it is a key. */
function isStrong(word: string): boolean {
  return (
    word.length <= longest &&
    !isTime(word) &&
    /^[\p{L}\p{N}_#@/.:+-]+$/u.test(word) &&
    (/\d\D*\d\D*\d/.test(word) || isCode(word))
  );
}

function isUrl(word: string): boolean {
  return /^[a-z][a-z0-9+.-]{1,20}:\/\/\S/i.test(word);
}

/** A date, perhaps with a time. */
function isTimed(word: string): boolean {
  return (
    /^\d{4}-\d{2}(?:-\d{2}(?:T[\d:.]{4,15}(?:Z|[+-]\d{2}:?\d{2})?)?)?$/.test(word) ||
    /^\d{1,2}[/.]\d{1,2}[/.]\d{2,4}$/.test(word)
  );
}

function isTime(word: string): boolean {
  return /^\d{1,2}:\d{2}/.test(word);
}

/** Five digits and more, as they are or in groups: neither prices nor counts. */
function isNumberLike(word: string): boolean {
  return /^#?\d{5,}$/.test(word) || /^#\d+$/.test(word) || /^\+?\d[\d-]{4,}\d$/.test(word);
}

function isCode(word: string): boolean {
  return /^[A-Z][A-Z0-9]{2,11}$/.test(word);
}

/** `basic_economy`, `on-hold`, `me@example.com`, `docs/guide.md`, `readme.md`, `#general` */
function isName(word: string): boolean {
  return (
    /^[\p{L}_][\p{L}]*(?:[_-][\p{L}]+)+_?$/u.test(word) ||
    /^[\p{L}_.+-]+@[\p{L}.-]+\.\p{L}+$/u.test(word) ||
    /^[~.]{0,2}\/?(?:[\p{L}_.-]+\/)+[\p{L}_.-]*$/u.test(word) ||
    /^[\p{L}_-]+\.[a-z]{2,5}$/u.test(word) ||
    /^[#@][\p{L}_-]+$/u.test(word)
  );
}
