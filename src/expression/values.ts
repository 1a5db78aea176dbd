import type { CelList, CelMap, CelValue } from "@bufbuild/cel";
import { cel } from "./cel.ts";
import { limits, chargeBudget } from "./problem.ts";

/** Brands by which the library recognizes maps and lists, even those of another copy of itself. */
const mapBrand = Symbol.for("@bufbuild/cel/map");
const listBrand = Symbol.for("@bufbuild/cel/list");

/**
 * Converts a JSON value to a CEL value. Objects and lists become lazy views of their own properties: nothing is copied
 * and prototypes are never visible. Numbers are CEL doubles. Non-JSON values (`undefined`, functions, symbols) count as
 * absent.
 */
export function toCelValue(value: unknown): CelValue | undefined {
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

/** A view of a JSON array as a CEL list. An absent element is null, as in `JSON.stringify`. */
class JsonList {
  readonly [listBrand] = true;

  constructor(readonly source: readonly unknown[]) {}

  get size(): number {
    return this.source.length;
  }

  get(index: number): CelValue | undefined {
    if (!Number.isInteger(index) || index < 0 || index >= this.source.length) return undefined;
    return toCelValue(this.source[index]) ?? null;
  }

  *values(): IterableIterator<CelValue> {
    for (const element of this.source) yield toCelValue(element) ?? null;
  }

  [Symbol.iterator](): IterableIterator<CelValue> {
    return this.values();
  }
}

/** A view of a JSON object as a CEL map with string keys. */
class JsonObject {
  readonly [mapBrand] = true;
  #keys: readonly string[] | undefined;

  constructor(readonly source: object) {}

  get size(): number {
    return this.#present().length;
  }

  get(key: unknown): CelValue | undefined {
    if (typeof key !== "string" || !Object.hasOwn(this.source, key)) return undefined;
    return toCelValue(this.source[key as keyof typeof this.source]);
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
 * A list that can be appended to without copying. The library builds the results of `map` and `filter` by adding one
 * element at a time, and its own concatenation yields slow, deeply nested lists.
 */
export class GrownList {
  readonly [listBrand] = true;

  private constructor(
    private readonly elements: CelValue[],
    readonly size: number,
  ) {}

  /** Concatenates two lists. Copies `list` if another list has already been appended to it. */
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

/** Thrown when JSON cannot represent a result. The message is a sentence without its full stop. */
class NoJsonResult extends Error {}

/**
 * Converts a CEL value to plain JSON. Parts of the input values are returned by reference.
 *
 * @throws NoJsonResult
 * @throws LimitReached
 */
export function fromCelValue(value: CelValue): unknown {
  return convert(value, 0);
}

function convert(value: CelValue, depth: number): unknown {
  chargeBudget(1);
  if (depth > limits.depth) throw new NoJsonResult(`the result is more than ${limits.depth} deep`);
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      if (Number.isFinite(value)) return value;
      throw new NoJsonResult("the result is not a finite number");
    case "bigint":
      return safeNumber(value);
    default:
      return convertObject(value, depth);
  }
}

function convertObject(value: Exclude<CelValue, string | number>, depth: number): unknown {
  if (value === null || value instanceof JsonList || value instanceof JsonObject)
    return value === null ? null : value.source;
  const { isCelList, isCelMap, isCelUint } = cel();
  if (isCelUint(value)) return safeNumber(value.value);
  if (isCelList(value)) return Array.from(value, (element) => convert(element, depth + 1));
  if (isCelMap(value))
    return Object.fromEntries(
      Array.from(value.entries(), ([key, element]) => [
        String(isCelUint(key) ? key.value : key),
        convert(element, depth + 1),
      ]),
    );
  if (value instanceof Uint8Array)
    throw new NoJsonResult("the result is bytes, which JSON cannot hold");
  throw new NoJsonResult("the result is a time, a duration or a type: write string(…) around it");
}

function safeNumber(value: bigint): number {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return number;
  throw new NoJsonResult(`the whole number ${value} is too large for JSON`);
}

/**
 * Renders a JSON value inside a text: strings verbatim, null as the empty string, other values as JSON. Returns
 * undefined if that exceeds `limit` characters. Large values are rejected before their JSON is created.
 *
 * @throws RangeError or TypeError if the value is nested too deeply or is not JSON
 */
export function jsonText(value: unknown, limit: number): string | undefined {
  if (value === null) return "";
  if (typeof value === "string") return value.length > limit ? undefined : value;
  if (leftAfter(value, limit) < 0) return undefined;
  const text = JSON.stringify(value) ?? "";
  return text.length > limit ? undefined : text;
}

/** Subtracts the minimum JSON length of `value` from `limit`; stops early once the result is negative. */
function leftAfter(value: unknown, limit: number): number {
  if (typeof value === "string") return limit - value.length - 2;
  if (typeof value !== "object" || value === null) return limit - 1;
  let left = limit - 2;
  for (const [key, part] of Object.entries(value)) {
    if (left < 0) return left;
    left = leftAfter(part, left - (Array.isArray(value) ? 1 : key.length + 3));
  }
  return left;
}
