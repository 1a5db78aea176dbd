import type { CelList, CelMap, CelValue } from "@bufbuild/cel";

/** How the library knows its maps and lists, whichever copy of it made them. */
const mapBrand = Symbol.for("@bufbuild/cel/map");
const listBrand = Symbol.for("@bufbuild/cel/list");

/**
 * A JSON value as CEL reads it. Objects and lists are views that look at their own properties only, when they are read:
 * nothing is copied and no prototype is ever seen. Numbers are CEL doubles. What JSON does not have (`undefined`,
 * functions, symbols) counts as absent.
 */
export function celOfJson(value: unknown): CelValue | undefined {
  switch (typeof value) {
    case "string":
    case "number":
    case "boolean":
    case "bigint":
      return value;
    case "object":
      if (value === null) return null;
      return (Array.isArray(value) ? new JsonList(value) : new JsonObject(value)) as unknown as
        | CelList
        | CelMap;
    default:
      return undefined;
  }
}

/** A JSON array, as a CEL list. An absent element is null, as in `JSON.stringify`. */
export class JsonList {
  readonly [listBrand] = true;

  constructor(readonly source: readonly unknown[]) {}

  get size(): number {
    return this.source.length;
  }

  get(index: number): CelValue | undefined {
    if (!Number.isInteger(index) || index < 0 || index >= this.source.length) return undefined;
    return celOfJson(this.source[index]) ?? null;
  }

  *values(): IterableIterator<CelValue> {
    for (const element of this.source) yield celOfJson(element) ?? null;
  }

  [Symbol.iterator](): IterableIterator<CelValue> {
    return this.values();
  }
}

/** A JSON object, as a CEL map from strings. */
export class JsonObject {
  readonly [mapBrand] = true;
  #keys: readonly string[] | undefined;

  constructor(readonly source: object) {}

  get size(): number {
    return this.#present().length;
  }

  get(key: unknown): CelValue | undefined {
    if (typeof key !== "string" || !Object.hasOwn(this.source, key)) return undefined;
    return celOfJson(this.source[key as keyof typeof this.source]);
  }

  has(key: unknown): boolean {
    return this.get(key) !== undefined;
  }

  forEach(callback: (value: CelValue, key: string, map: this) => void, self?: unknown): void {
    for (const [key, value] of this.entries()) callback.call(self, value, key, this);
  }

  *entries(): IterableIterator<[string, CelValue]> {
    for (const key of this.#present()) yield [key, this.get(key) ?? null];
  }

  keys(): IterableIterator<string> {
    return this.#present().values();
  }

  *values(): IterableIterator<CelValue> {
    for (const [, value] of this.entries()) yield value;
  }

  [Symbol.iterator](): IterableIterator<[string, CelValue]> {
    return this.entries();
  }

  #present(): readonly string[] {
    this.#keys ??= Object.keys(this.source).filter((key) => this.has(key));
    return this.#keys;
  }
}

/**
 * A list that grows at its end without copying: the library builds the results of `map` and `filter` by adding one
 * element at a time, and its own way of adding makes them slow and deep.
 */
export class GrownList {
  readonly [listBrand] = true;

  private constructor(
    private readonly elements: CelValue[],
    readonly size: number,
  ) {}

  /** `list` and then `more`. A list that was added to before is copied, as its end is taken. */
  static join(list: CelList, more: CelList): CelList {
    const grown: unknown = list;
    const elements =
      grown instanceof GrownList && grown.elements.length === grown.size
        ? grown.elements
        : [...list];
    for (const element of more) elements.push(element);
    return new GrownList(elements, elements.length) as unknown as CelList;
  }

  get(index: number): CelValue | undefined {
    if (!Number.isInteger(index) || index < 0 || index >= this.size) return undefined;
    return this.elements[index];
  }

  *values(): IterableIterator<CelValue> {
    for (let index = 0; index < this.size; index += 1) yield this.elements[index] ?? null;
  }

  [Symbol.iterator](): IterableIterator<CelValue> {
    return this.values();
  }
}
