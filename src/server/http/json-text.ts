import { HttpProblem } from "../problems.ts";

/** Bounds of a JSON text, which hold before anything is built from it. */
export interface JsonLimits {
  /** Levels of nesting. */
  readonly maxDepth: number;
  /** Keys and list entries in all. */
  readonly maxValues: number;
}

/**
 * Parses a JSON text that a client sent. Keys that occur twice in an object and `__proto__` are refused: parsers differ
 * in what they make of them.
 *
 * @throws HttpProblem `invalid_json`
 */
export function parseJsonText(text: string, limits: JsonLimits): unknown {
  new JsonScan(text, limits).check();
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // The parser's message quotes the text.
    throw refuse("The body is not valid JSON.");
  }
}

function refuse(detail: string): HttpProblem {
  return new HttpProblem("invalid_json", { detail });
}

/** An open object or list. */
interface Level {
  /** Keys of an object; null for a list. */
  readonly keys: Set<string> | null;
  /** Whether the next string is a key. */
  expectsKey: boolean;
}

/** One pass over a text that may be no JSON at all: it checks bounds and keys, and leaves the grammar to the parser. */
class JsonScan {
  #values = 0;
  #at = 0;
  readonly #levels: Level[] = [];

  constructor(
    private readonly text: string,
    private readonly limits: JsonLimits,
  ) {}

  check(): void {
    const { text } = this;
    for (; this.#at < text.length; this.#at += 1) {
      switch (text.charCodeAt(this.#at)) {
        case 0x22: // "
          this.#string();
          break;
        case 0x7b: // {
          this.#open({ keys: new Set(), expectsKey: true });
          break;
        case 0x5b: // [
          this.#open({ keys: null, expectsKey: false });
          break;
        case 0x7d: // }
        case 0x5d: // ]
          this.#levels.pop();
          break;
        case 0x2c: // ,
          this.#separate();
          break;
      }
    }
  }

  #open(level: Level): void {
    this.#count();
    this.#levels.push(level);
    if (this.#levels.length > this.limits.maxDepth) {
      throw refuse(`The body is nested more than ${this.limits.maxDepth} levels deep.`);
    }
  }

  #separate(): void {
    this.#count();
    const level = this.#levels.at(-1);
    if (level !== undefined) level.expectsKey = level.keys !== null;
  }

  #count(): void {
    this.#values += 1;
    if (this.#values > this.limits.maxValues) {
      throw refuse(`The body has more than ${this.limits.maxValues} values.`);
    }
  }

  #string(): void {
    const { text } = this;
    const from = this.#at;
    let hasEscapes = false;
    for (this.#at += 1; this.#at < text.length; this.#at += 1) {
      const code = text.charCodeAt(this.#at);
      if (code === 0x22) break;
      if (code === 0x5c) {
        hasEscapes = true;
        this.#at += 1;
      }
    }
    const level = this.#levels.at(-1);
    if (level?.keys == null || !level.expectsKey) return;
    level.expectsKey = false;
    const key = hasEscapes
      ? unescaped(text.slice(from, this.#at + 1))
      : text.slice(from + 1, this.#at);
    if (key === "__proto__") throw refuse("The body has the key __proto__.");
    if (level.keys.has(key)) throw refuse("The body has an object with the same key twice.");
    level.keys.add(key);
  }
}

function unescaped(literal: string): string {
  try {
    return String(JSON.parse(literal));
  } catch {
    throw refuse("The body is not valid JSON.");
  }
}
