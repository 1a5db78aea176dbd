/** Levels of nesting that are read. */
const maxDepth = 200;

export type RelaxedRead =
  | {
      readonly ok: true;
      readonly value: object;
      /** Index after the closing bracket. */
      readonly end: number;
      /** Levels of nesting; 1 if no value is an object or array. */
      readonly depth: number;
    }
  | { readonly ok: false; readonly problem: string };

/**
 * Reads the object or array that opens at `start`, written as JSON, JavaScript or Python: with comments, commas before
 * a closing bracket, single quotes, bare keys, `True`, `False`, `None`, and line breaks in strings. Accepts only what
 * has one meaning: refuses missing brackets, quotes and commas, other bare words, unknown escapes, repeated keys,
 * numbers that lose digits and more than 200 levels. Text after the closing bracket is not read. Never throws, and takes linear time.
 *
 * @example readRelaxedJson("{q: 'x', }") // { ok: true, value: { q: "x" }, end: 10, depth: 1 }
 */
export function readRelaxedJson(text: string, start = 0): RelaxedRead {
  const translator = new Translator(text, start);
  try {
    translator.container(1);
    const value = JSON.parse(translator.json) as object;
    return { ok: true, value, end: translator.at, depth: translator.depth };
  } catch (thrown) {
    if (thrown instanceof Unreadable) return { ok: false, problem: thrown.message };
    throw thrown;
  }
}

/** Ends a reading; never leaves this file. */
class Unreadable extends Error {}

const bareKey = /[\p{L}_$][\p{L}\p{N}_$-]*/uy;
const word = /[A-Za-z]+/y;
const numeral = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.+-])/y;
const plain = { '"': /[^"\\\p{Cc}]*/uy, "'": /[^'"\\\p{Cc}]*/uy } as const;
const escaped = /\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y;

const constants = new Map([
  ["true", "true"],
  ["false", "false"],
  ["null", "null"],
  ["True", "true"],
  ["False", "false"],
  ["None", "null"],
]);

/** Whether a number is finite in JavaScript and, if it is an integer, keeps all digits. */
function isExact(written: string): boolean {
  const value = Number(written);
  if (!Number.isFinite(value)) return false;
  return !/^-?\d+$/.test(written) || Number.isSafeInteger(value) || String(value) === written;
}

/** Writes what it reads as JSON. */
class Translator {
  readonly #text: string;
  readonly #pieces: string[] = [];
  at: number;
  depth = 0;

  constructor(text: string, start: number) {
    this.#text = text;
    this.at = start;
  }

  get json(): string {
    return this.#pieces.join("");
  }

  container(level: number): void {
    if (level > maxDepth) throw new Unreadable(`it is nested more than ${maxDepth} levels deep`);
    this.depth = Math.max(this.depth, level);
    const opening = this.#text[this.at];
    if (opening !== "{" && opening !== "[") throw this.#unexpected("an object or array");
    const closing = opening === "{" ? "}" : "]";
    const keys = new Set<string>();
    this.at += 1;
    this.#pieces.push(opening);
    this.#space();
    while (this.#text[this.at] !== closing) {
      if (opening === "{") this.#member(keys, level);
      else this.#value(level);
      this.#space();
      if (this.#text[this.at] === ",") {
        this.at += 1;
        this.#space();
        if (this.#text[this.at] !== closing) this.#pieces.push(",");
      } else if (this.#text[this.at] !== closing) throw this.#unexpected(`"," or "${closing}"`);
    }
    this.at += 1;
    this.#pieces.push(closing);
  }

  #member(keys: Set<string>, level: number): void {
    const from = this.#pieces.length;
    const quote = this.#text[this.at];
    if (quote === '"' || quote === "'") this.#string(quote);
    else {
      const name = this.#match(bareKey);
      if (name === null) throw this.#unexpected("a key");
      this.#pieces.push(JSON.stringify(name));
    }
    const key = JSON.parse(this.#pieces.slice(from).join("")) as string;
    if (keys.has(key)) throw new Unreadable(`it has the key "${key.slice(0, 100)}" twice`);
    keys.add(key);
    this.#space();
    if (this.#text[this.at] !== ":") throw this.#unexpected('":"');
    this.at += 1;
    this.#pieces.push(":");
    this.#space();
    this.#value(level);
  }

  #value(level: number): void {
    const char = this.#text[this.at];
    if (char === "{" || char === "[") return this.container(level + 1);
    if (char === '"' || char === "'") return this.#string(char);
    const number = this.#match(numeral);
    if (number !== null) {
      if (!isExact(number)) throw new Unreadable(`the number ${number.slice(0, 100)} is too large`);
      return void this.#pieces.push(number);
    }
    const start = this.at;
    const constant = constants.get(this.#match(word) ?? "");
    if (constant === undefined || /[\w$.(-]/.test(this.#text[this.at] ?? "")) {
      this.at = start;
      throw this.#unexpected("a value");
    }
    this.#pieces.push(constant);
  }

  #string(quote: '"' | "'"): void {
    this.at += 1;
    this.#pieces.push('"');
    for (;;) {
      this.#pieces.push(this.#match(plain[quote]) ?? "");
      const char = this.#text[this.at];
      if (char === undefined) throw new Unreadable("it ends inside a string");
      if (char === quote) break;
      if (char === "\\") this.#pieces.push(this.#escape());
      else {
        this.#pieces.push(JSON.stringify(char).slice(1, -1));
        this.at += 1;
      }
    }
    this.at += 1;
    this.#pieces.push('"');
  }

  #escape(): string {
    const known = this.#match(escaped);
    if (known !== null) return known;
    if (this.#text[this.at + 1] !== "'") throw this.#unexpected("an escape of JSON");
    this.at += 2;
    return "'";
  }

  /** White space and comments. */
  #space(): void {
    for (;;) {
      const char = this.#text[this.at] ?? "";
      const next = this.#text[this.at + 1];
      if (char !== "" && char.trim() === "") this.at += 1;
      else if ((char === "#" && next === " ") || (char === "/" && next === "/"))
        this.#skipTo("\n", 1);
      else if (char === "/" && next === "*") this.#skipTo("*/", 2);
      else return;
    }
  }

  #skipTo(ending: string, from: number): void {
    const end = this.#text.indexOf(ending, this.at + from);
    if (end < 0) throw new Unreadable("it ends inside a comment");
    this.at = end + ending.length;
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.at;
    const [found] = pattern.exec(this.#text) ?? [null];
    if (found !== null) this.at += found.length;
    return found;
  }

  #unexpected(expected: string): Unreadable {
    const char = this.#text[this.at];
    return new Unreadable(
      char === undefined
        ? "it is cut off: not all of its brackets are closed"
        : `expected ${expected} at character ${this.at}, got ${JSON.stringify(char)}`,
    );
  }
}
