/** The beginning of a value's JSON. */
export interface JsonHead {
  readonly text: string;
  /** Whether `text` is all of it. */
  readonly whole: boolean;
}

/** Levels of nesting that are written; what is deeper is replaced by `"[too deep]"`, cycles included. */
const maxDepth = 200;

/**
 * What `JSON.stringify` gives, at a cost that is bounded by `maxLength` and not by the value: writing stops soon after
 * so many characters. Big integers are written as strings.
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
    } else if (depth >= maxDepth) this.#add('"[too deep]"');
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
