import { headOf } from "./text.ts";

/** A copy of a value as JSON, and how large it is. */
export interface JsonCopy {
  /** Plain JSON that shares nothing with the original. Past the limit: the part that stands before it. */
  readonly value: unknown;
  /** UTF-8 bytes of the whole value's JSON; a minimum if `counted` is false. */
  readonly bytes: number;
  /** Whether `value` is whole. */
  readonly whole: boolean;
  /** False when the value is so far over the limit that counting was given up. */
  readonly counted: boolean;
}

/** What stands deeper than this is replaced by a note. */
const maxDepth = 200;

/** How far over the limit a value is still counted, as a factor. */
const countingFactor = 16;

/**
 * Copies any value to JSON, at a cost that is bounded by `maxBytes` and not by the value. Where JSON has no form:
 * - `undefined`, functions and symbols are left out of objects, and null elsewhere
 * - big integers: a string of digits; `NaN` and infinities: null; -0: 0
 * - bytes (buffers, `Uint8Array`, `ArrayBuffer`): `{ type: "bytes", length, base64 }`; other typed arrays: a list
 * - maps: an object when all keys are strings, else a list of `[key, value]`; sets: a list
 * - dates, URLs and whatever else has `toJSON`: what that gives
 * - errors: `{ name, message }`; other instances: an object of their own enumerable fields
 * - an object within itself: `"[circular]"`; what is more than 200 levels deep: `"[too deep]"`
 * @throws what a getter, a proxy or `toJSON` of the value throws.
 */
export function toJson(value: unknown, maxBytes: number): JsonCopy {
  const copier = new JsonCopier(maxBytes);
  const copy = copier.copy(value, 0);
  return {
    value: copy,
    bytes: copier.bytes,
    whole: copier.bytes <= maxBytes,
    counted: !copier.gaveUp,
  };
}

class JsonCopier {
  bytes = 0;
  gaveUp = false;
  readonly #maxBytes: number;
  readonly #giveUpAt: number;
  readonly #ancestors = new Set<object>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#giveUpAt = maxBytes * countingFactor;
  }

  copy(value: unknown, depth: number): unknown {
    if (typeof value === "string") return this.#text(value);
    if (typeof value === "number" && Number.isFinite(value)) {
      const number = value === 0 ? 0 : value;
      return this.#add(String(number).length, number);
    }
    if (typeof value === "boolean") return this.#add(value ? 4 : 5, value);
    if (typeof value === "bigint") return this.#text(String(value));
    if (typeof value === "object" && value !== null) return this.#object(value, depth);
    return this.#add(4, null);
  }

  #add<T>(bytes: number, value: T): T {
    this.bytes += bytes;
    if (this.bytes > this.#giveUpAt) this.gaveUp = true;
    return value;
  }

  #text(text: string): string {
    if (text.length > this.#giveUpAt) this.gaveUp = true;
    const room = Math.max(0, this.#maxBytes - this.bytes);
    const copy = headOf(text, room);
    return this.#add(this.gaveUp ? text.length : jsonStringBytes(text), copy);
  }

  #object(object: object, depth: number): unknown {
    if (this.#ancestors.has(object)) return this.#text("[circular]");
    if (depth >= maxDepth) return this.#text("[too deep]");
    this.#ancestors.add(object);
    const copy = this.#form(object, depth);
    this.#ancestors.delete(object);
    return copy;
  }

  #form(object: object, depth: number): unknown {
    if (Array.isArray(object)) return this.#list(object, depth);
    const bytes = bytesOf(object);
    if (bytes !== undefined) return this.#bytes(bytes, depth);
    if (ArrayBuffer.isView(object)) {
      return this.#list(object as unknown as ArrayLike<unknown>, depth);
    }
    if (object instanceof Map) {
      const keys = [...object.keys()];
      const named = keys.every((key) => typeof key === "string");
      return named
        ? this.#fields(keys, (key) => object.get(key), depth)
        : this.#list([...object], depth);
    }
    if (object instanceof Set) return this.#list([...object], depth);
    const { toJSON } = object as { toJSON?: unknown };
    if (typeof toJSON === "function") {
      const json: unknown = toJSON.call(object, "");
      if (json !== object) return this.copy(json, depth + 1);
    }
    const keys = object instanceof Error ? ["name", "message"] : Object.keys(object);
    return this.#fields(keys, (key) => (object as Record<string, unknown>)[key], depth);
  }

  #list(items: ArrayLike<unknown>, depth: number): unknown[] {
    const list: unknown[] = [];
    this.#add(2, null);
    for (let index = 0; index < items.length && !this.gaveUp; index += 1) {
      const full = this.bytes > this.#maxBytes;
      if (index > 0) this.#add(1, null);
      const item = this.copy(items[index], depth + 1);
      if (!full) list.push(item);
    }
    return list;
  }

  #fields(keys: readonly string[], read: (key: string) => unknown, depth: number) {
    const fields: Record<string, unknown> = {};
    let comma = 0;
    this.#add(2, null);
    for (const key of keys) {
      if (this.gaveUp) break;
      const value = read(key);
      if (value === undefined || typeof value === "function" || typeof value === "symbol") continue;
      const full = this.bytes > this.#maxBytes;
      this.#add(jsonStringBytes(key) + 1 + comma, null);
      comma = 1;
      const copy = this.copy(value, depth + 1);
      if (!full) setOwn(fields, key, copy);
    }
    return fields;
  }

  #bytes(bytes: Uint8Array, depth: number): unknown {
    const room = Math.max(0, this.#maxBytes - this.bytes);
    const unread = bytes.length - Math.min(bytes.length, room);
    const shown = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length - unread);
    const base64 = shown.toString("base64");
    this.#add(Math.ceil(unread / 3) * 4, null);
    const form: Record<string, unknown> = { type: "bytes", length: bytes.length, base64 };
    return this.#fields(Object.keys(form), (key) => form[key], depth);
  }
}

/** Also for `__proto__`, which an assignment would take as the prototype. */
function setOwn(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== "__proto__") object[key] = value;
  else {
    Object.defineProperty(object, key, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
}

function bytesOf(object: object): Uint8Array | undefined {
  if (object instanceof Uint8Array) return object;
  if (object instanceof ArrayBuffer || object instanceof SharedArrayBuffer) {
    return new Uint8Array(object);
  }
  if (object instanceof DataView) {
    return new Uint8Array(object.buffer, object.byteOffset, object.byteLength);
  }
  return undefined;
}

/** The beginning of a value's JSON. */
export interface JsonHead {
  readonly text: string;
  /** Whether `text` is all of it. */
  readonly whole: boolean;
}

/** Levels of nesting that are written; what is deeper is replaced by `"[too deep]"`, cycles included. */
const maxHeadDepth = 200;

/**
 * What `JSON.stringify` gives, at a cost that is bounded by `maxLength` and not by the value: writing stops soon after
 * a maximum number of characters. Big integers are written as strings.
 */
export function jsonHead(value: unknown, maxLength: number): JsonHead {
  const writer = new HeadWriter(maxLength);
  writer.write(value, 0);
  return { text: writer.text, whole: !writer.full };
}

class HeadWriter {
  text = "";
  full = false;
  readonly #maxLength: number;

  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  write(value: unknown, depth: number): void {
    if (typeof value === "string") this.#string(value);
    else if (typeof value === "bigint") this.#add(`"${value}"`);
    else if (typeof value !== "object" || value === null) {
      this.#add(JSON.stringify(value) ?? "null");
    } else if (depth >= maxHeadDepth) this.#add('"[too deep]"');
    else {
      const { toJSON } = value as { toJSON?: unknown };
      if (typeof toJSON === "function") this.write(toJSON.call(value, ""), depth + 1);
      else if (Array.isArray(value)) this.#list(value, depth);
      else this.#fields(value as Record<string, unknown>, depth);
    }
  }

  #add(part: string): void {
    if (this.text.length >= this.#maxLength) this.full = true;
    else this.text += part;
  }

  #string(value: string): void {
    const room = Math.max(0, this.#maxLength - this.text.length);
    if (value.length <= room) return this.#add(JSON.stringify(value));
    this.#add(JSON.stringify(value.slice(0, room)).slice(0, -1));
    this.full = true;
  }

  #list(items: readonly unknown[], depth: number): void {
    this.#add("[");
    for (let index = 0; index < items.length && !this.full; index += 1) {
      if (index > 0) this.#add(",");
      this.write(items[index], depth + 1);
    }
    this.#add("]");
  }

  #fields(object: Record<string, unknown>, depth: number): void {
    this.#add("{");
    let separator = "";
    for (const key of Object.keys(object)) {
      if (this.full) break;
      const value = object[key];
      if (value === undefined || typeof value === "function" || typeof value === "symbol") continue;
      this.#add(separator);
      this.#string(key);
      this.#add(":");
      this.write(value, depth + 1);
      separator = ",";
    }
    this.#add("}");
  }
}

/** Shorter strings are measured without making their JSON. */
const shortText = 48;

/** UTF-8 bytes of a string's JSON, quotes included. */
export function jsonStringBytes(text: string): number {
  if (text.length > shortText) return Buffer.byteLength(JSON.stringify(text));
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    const plain = code >= 0x20 && code < 0x7f && code !== 0x22 && code !== 0x5c;
    if (!plain) return Buffer.byteLength(JSON.stringify(text));
  }
  return text.length + 2;
}

/** The longest start of `text` whose JSON, without quotes, has at most `maxBytes` UTF-8 bytes. */
export function cutToJsonBytes(text: string, maxBytes: number): string {
  let low = 0;
  let high = Math.min(text.length, Math.max(0, maxBytes));
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (jsonStringBytes(text.slice(0, middle)) - 2 <= maxBytes) low = middle;
    else high = middle - 1;
  }
  return headOf(text, low);
}
