import { cleanText } from "../clean-text.ts";
import { compactNotation } from "../notation.ts";
import { attempt, cutMiddle, figure, more, plainValue, StringPreviews } from "./preview-string.ts";
import { factsText, salientFacts, type SalientFact } from "./salient-values.ts";

/** How much of a value a preview shows. Figures below 0 count as 0, what is no number as the default. */
export interface PreviewOptions {
  /** Characters of a string that are shown. A longer one by less than the mark that says so stays whole. @default 300 */
  readonly maxChars?: number;
  /** Items of a list, rows of a table in a text, links of a page. @default 3 */
  readonly maxItems?: number;
  /** Levels of nesting; at most 100. @default 6 */
  readonly maxDepth?: number;
  /** Keys of an object. @default 30 */
  readonly maxKeys?: number;
  /** Characters of the preview's JSON; at least 100. @default 10 times `maxChars`, and at least 1,000 */
  readonly maxTotal?: number;
}

/**
 * A value cut down so that a model can see what is there, in the shape it has: the first items of a list and how many
 * more there are, the head and the tail of a text. Texts are shown by their kind: JSON as its value, pages without tags,
 * tables by their first rows, encoded bytes by name only. A value that is small enough is returned as it is.
 *
 * The preview is a value of JSON, whose text has at most `maxTotal` characters: where the other options would give
 * more, they are lowered together until it fits. Never throws, and never reads a long list or text whole.
 * @example preview({ rows: [1, 2, 3, 4, 5] }) // { rows: [1, 2, 3, "… 2 more items"] }
 */
export function preview(value: unknown, options: PreviewOptions = {}): unknown {
  const maxChars = whole(options.maxChars, 300);
  const maxTotal = Math.max(100, whole(options.maxTotal, Math.max(1000, 10 * maxChars)));
  const strings = new StringPreviews();
  let limits: PreviewLimits | null = {
    maxChars,
    maxItems: whole(options.maxItems, 3),
    maxDepth: Math.min(100, whole(options.maxDepth, 6)),
    maxKeys: whole(options.maxKeys, 30),
  };
  while (limits !== null) {
    const walk = new PreviewWalk(limits, strings, maxTotal);
    const shown = walk.show(value, 0);
    if (walk.fits) return shown;
    limits = coarser(limits);
  }
  return typeof value === "string"
    ? `[text, ${figure(value.length)} chars]`
    : "[too large to show]";
}

/** Null where there is no less to show. */
function coarser({ maxChars, maxItems, maxDepth, maxKeys }: PreviewLimits): PreviewLimits | null {
  if (maxChars === 0 && maxDepth === 0) return null;
  return {
    maxChars: Math.floor(maxChars / 2),
    maxItems: maxItems > 3 ? Math.ceil(maxItems / 2) : maxItems,
    maxDepth: Math.max(0, Math.min(maxDepth - 1, 10)),
    maxKeys: maxKeys > 8 ? Math.ceil(maxKeys * 0.6) : maxKeys,
  };
}

function whole(option: number | undefined, usual: number): number {
  if (option === undefined || Number.isNaN(option)) return usual;
  return Math.max(0, Math.min(Number.MAX_SAFE_INTEGER, Math.floor(option)));
}

interface PreviewLimits {
  readonly maxChars: number;
  readonly maxItems: number;
  readonly maxDepth: number;
  readonly maxKeys: number;
}

/** Characters of a key that are shown. */
const keyCharacters = 60;

/** One way through a value. Stops early once more than `room` characters of JSON would be shown. */
class PreviewWalk {
  readonly #limits: PreviewLimits;
  readonly #strings: StringPreviews;
  #room: number;
  readonly #above = new Set<object>();

  constructor(limits: PreviewLimits, strings: StringPreviews, room: number) {
    this.#limits = limits;
    this.#strings = strings;
    this.#room = room;
  }

  get fits(): boolean {
    return this.#room >= 0;
  }

  /** The same value where nothing of it had to change. */
  show(given: unknown, depth: number): unknown {
    const value = plainValue(given);
    if (typeof value === "string") return this.#string(value, depth);
    if (typeof value !== "object" || value === null) {
      this.#take(String(value).length);
      return value;
    }
    if (this.#above.has(value) || this.#above.has(given as object)) return this.#mark("[circular]");
    this.#above.add(value).add(given as object);
    let shown: unknown;
    try {
      shown = this.#container(value, depth);
    } catch {
      shown = this.#mark("[unreadable]");
    }
    this.#above.delete(value);
    this.#above.delete(given as object);
    return shown;
  }

  #string(text: string, depth: number): unknown {
    const shown = this.#strings.show(text, this.#limits);
    if (typeof shown !== "string") return this.show(shown, depth);
    this.#take(JSON.stringify(shown).length);
    return shown;
  }

  #container(value: object, depth: number): unknown {
    this.#take(2);
    if (Array.isArray(value)) return this.#list(value, depth);
    if (value instanceof Set)
      return this.#list([...taken(value, this.#limits.maxItems)], depth, value.size);
    if (value instanceof Map) return this.#map(value, depth);
    return this.#object(value as Record<string, unknown>, depth);
  }

  #list(items: readonly unknown[], depth: number, length = items.length): unknown {
    if (length === 0) return items;
    if (depth >= this.#limits.maxDepth) return this.#mark(`[list of ${figure(length)}]`);
    const shown: unknown[] = [];
    const count = Math.min(length, this.#limits.maxItems);
    let isSame = count === length && !Object.hasOwn(items, "toJSON");
    for (let index = 0; index < count && this.fits; index += 1) {
      this.#take(1);
      const item = attempt(() => items[index]);
      shown.push(this.show(item, depth + 1));
      isSame &&= Object.is(shown[index], item);
    }
    if (isSame && this.fits) return items;
    if (length > count) shown.push(this.#mark(`… ${more(length - count, "item")}`));
    return shown;
  }

  #map(map: ReadonlyMap<unknown, unknown>, depth: number): unknown {
    const entries = [...taken(map, this.#limits.maxKeys)];
    if (!entries.every(([key]) => typeof key === "string")) {
      return this.#list(entries.slice(0, this.#limits.maxItems), depth, map.size);
    }
    return this.#fields(entries as [string, unknown][], map.size, depth).shown;
  }

  #object(object: Record<string, unknown>, depth: number): unknown {
    const keys = Object.keys(object);
    const prototype: unknown = Object.getPrototypeOf(object);
    const isPlain = prototype === Object.prototype || prototype === null;
    if (keys.length === 0) return isPlain ? object : {};
    const shownKeys = depth >= this.#limits.maxDepth ? [] : keys.slice(0, this.#limits.maxKeys);
    const entries = shownKeys.map((key) => [key, attempt(() => object[key])] as const);
    const { shown, isSame } = this.#fields(entries, keys.length, depth);
    return isPlain && isSame ? object : shown;
  }

  #fields(entries: readonly (readonly [string, unknown])[], size: number, depth: number) {
    if (size > 0 && depth >= this.#limits.maxDepth) {
      return {
        shown: this.#mark(`[object with ${more(size, "key").replace(" more", "")}]`),
        isSame: false,
      };
    }
    const fields = new Map<string, unknown>();
    let isSame = entries.length === size;
    for (const [key, value] of entries) {
      if (!this.fits) break;
      // JSON leaves them out, but for a function that is to give the JSON.
      if (typeof value === "function" || typeof value === "symbol") isSame = false;
      if (value === undefined || typeof value === "function" || typeof value === "symbol") continue;
      const name = nameFor(key, fields);
      this.#take(JSON.stringify(name).length + 2);
      const shown = this.show(value, depth + 1);
      fields.set(name, shown);
      isSame &&= name === key && Object.is(shown, value);
    }
    if (size > entries.length) {
      fields.set(nameFor("…", fields), this.#mark(more(size - entries.length, "key")));
    }
    return { shown: Object.fromEntries(fields), isSame: isSame && this.fits };
  }

  #mark(text: string): string {
    // With room for the key that it may stand under.
    this.#take(text.length + 10);
    return text;
  }

  #take(characters: number): void {
    this.#room -= characters;
  }
}

/** The key, cut where it is long, and told from those which are alike then. */
function nameFor(key: string, others: ReadonlyMap<string, unknown>): string {
  const cut = cutMiddle(key, keyCharacters);
  let name = cut;
  for (let copy = 2; others.has(name); copy += 1) name = `${cut} (${copy})`;
  return name;
}

function* taken<T>(values: Iterable<T>, count: number): Iterable<T> {
  let left = count;
  for (const value of values) {
    if (left <= 0) return;
    left -= 1;
    yield value;
  }
}

export interface PreviewTextOptions extends PreviewOptions {
  /** Identifiers of the whole value that are named where the preview does not show them. @default 40 */
  readonly keepValues?: number;
}

/** Identifiers that are looked for, and characters of those that are named for each of `keepValues`. */
const countedValues = 1000;
const charactersEach = 30;

/**
 * A large tool result as bounded text for planning: its preview in the compact notation, and on a line after it
 * (`also in it: R1, R2, … 40 more`) the identifiers that the preview does not show. Never throws.
 */
export function previewText(value: unknown, options: PreviewTextOptions = {}): string {
  const { keepValues = 40 } = options;
  const text = cleanText(compactNotation(preview(value, options)));
  const found = salientFacts(value, countedValues);
  const hidden = found.filter(({ values }) => values.some((one) => !text.includes(one)));
  const kept: SalientFact[] = [];
  let count = 0;
  let room = keepValues * charactersEach;
  for (const fact of hidden) {
    room -= fact.text.length + (fact.name === kept.at(-1)?.name ? 0 : fact.name.length);
    count += fact.values.length;
    if (room < 0 || count > keepValues) break;
    kept.push(fact);
  }
  if (kept.length === 0) return text;
  const left = hidden.length - kept.length;
  const isCut = found.reduce((sum, { values }) => sum + values.length, 0) >= countedValues;
  const rest = left > 0 ? `; … ${isCut ? "more than " : ""}${left} more` : "";
  return `${text}\nalso in it: ${factsText(kept)}${rest}`;
}
