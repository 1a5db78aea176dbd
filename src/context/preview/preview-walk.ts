import { cutMiddle, figure, more } from "./cut-middle.ts";
import { attempt, plainValue } from "./plain-value.ts";
import type { StringPreviews } from "./preview-string.ts";

export interface PreviewLimits {
  readonly maxChars: number;
  readonly maxItems: number;
  readonly maxDepth: number;
  readonly maxKeys: number;
}

/** Characters of a key that are shown. */
const keyCharacters = 60;

/** One way through a value. Stops early once more than `room` characters of JSON would be shown. */
export class PreviewWalk {
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
