import { errorMessage } from "../errors.ts";
import { re2 } from "./cel.ts";
import { limits } from "./problem.ts";

/** A regular expression in RE2 syntax, with its cost per character. */
export interface TranslatedPattern {
  readonly source: string;
  /** Number of characters, classes and assertions, those in repetitions counted as often as they may repeat. */
  readonly size: number;
}

/** Thrown for a part of a regular expression that RE2 cannot express. The message is a noun phrase. */
class UntranslatablePart extends Error {}

/**
 * Translates an ECMA-262 regular expression, the dialect of JSON Schema patterns, to RE2 syntax. Matching is by code
 * point, as with the flag `u`. Groups do not capture.
 *
 * @param pattern a regular expression that JavaScript accepts
 * @throws UntranslatablePart for lookaround, backreferences, inline flags and escapes without a meaning
 */
function translatePattern(pattern: string): TranslatedPattern {
  const reader = new Reader(Array.from(pattern));
  const translated = reader.alternatives();
  if (!reader.isAtEnd) throw new UntranslatablePart(`a ")" without a "("`);
  return translated;
}

const noNewline = String.raw`[^\n\r\x{2028}\x{2029}]`;
const anything = String.raw`\x00-\x{10FFFF}`;

/** Class members of ECMA-262 white space, without brackets; RE2's `\s` has only five of these characters. */
const space = String.raw`\t-\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}`;
const noSpace = String.raw`\x00-\x08\x0E-\x1F!-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027}\x{202A}-\x{202E}\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{FEFE}\x{FF00}-\x{10FFFF}`;

const controls: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13 };

/** Long names of general categories, with the short names that RE2 requires. */
const categories: Readonly<Record<string, string>> = {
  Letter: "L",
  Uppercase_Letter: "Lu",
  Lowercase_Letter: "Ll",
  Titlecase_Letter: "Lt",
  Modifier_Letter: "Lm",
  Other_Letter: "Lo",
  Mark: "M",
  Number: "N",
  Decimal_Number: "Nd",
  Punctuation: "P",
  Symbol: "S",
  Separator: "Z",
  Space_Separator: "Zs",
  Other: "C",
  Control: "Cc",
};

class Reader {
  readonly #characters: readonly string[];
  #at = 0;

  constructor(characters: readonly string[]) {
    this.#characters = characters;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#characters.length;
  }

  alternatives(): TranslatedPattern {
    const sources: string[] = [];
    let size = 0;
    do {
      const sequence = this.#sequence();
      sources.push(sequence.source);
      size += sequence.size + 1;
    } while (this.#take("|"));
    return { source: sources.join("|"), size };
  }

  #sequence(): TranslatedPattern {
    let source = "";
    let size = 0;
    while (!this.isAtEnd && !this.#comes("|") && !this.#comes(")")) {
      const part = this.#repeated(this.#atom());
      source += part.source;
      size += part.size;
    }
    return { source, size };
  }

  #atom(): TranslatedPattern {
    if (this.#take("(")) return this.#group();
    if (this.#take("[")) return { source: this.#characterClass(), size: 1 };
    if (this.#take(".")) return { source: noNewline, size: 1 };
    if (this.#take("^")) return { source: "^", size: 1 };
    if (this.#take("$")) return { source: "$", size: 1 };
    if (this.#take("\\b")) return { source: "\\b", size: 1 };
    if (this.#take("\\B")) return { source: "\\B", size: 1 };
    const member = this.#member();
    if (typeof member === "number") return { source: literal(member), size: 1 };
    return { source: `[${member.members}]`, size: 1 };
  }

  #group(): TranslatedPattern {
    if (this.#comes("?=") || this.#comes("?!")) {
      throw new UntranslatablePart(`a lookahead "(${this.#next(2)}"`);
    }
    if (this.#comes("?<=") || this.#comes("?<!")) {
      throw new UntranslatablePart(`a lookbehind "(${this.#next(3)}"`);
    }
    if (this.#take("?<")) {
      while (!this.#take(">")) this.#at += 1;
    } else if (!this.#take("?:") && this.#comes("?")) {
      throw new UntranslatablePart(`inline flags "(${this.#next(2)}"`);
    }
    const inner = this.alternatives();
    this.#take(")");
    return { source: `(?:${inner.source})`, size: inner.size };
  }

  /** Drops lazy modifiers: greedy and lazy quantifiers match the same texts. */
  #repeated({ source, size }: TranslatedPattern): TranslatedPattern {
    const quantifier = this.#quantifier();
    if (quantifier === null) return { source, size };
    this.#take("?");
    const [, least = "", , most = ""] = /^\{(\d+)(,(\d*))?\}$/.exec(quantifier) ?? [];
    const times = Math.max(1, Number(least), Number(most));
    return { source: source + quantifier, size: size * times + 1 };
  }

  #quantifier(): string | null {
    for (const sign of ["*", "+", "?"]) if (this.#take(sign)) return sign;
    if (!this.#comes("{")) return null;
    const end = this.#characters.indexOf("}", this.#at);
    const written = this.#characters.slice(this.#at, end + 1).join("");
    if (!/^\{\d+(?:,\d*)?\}$/.test(written)) return null;
    this.#at = end + 1;
    return written;
  }

  #characterClass(): string {
    const isNegated = this.#take("^");
    let members = "";
    while (!this.#take("]")) {
      const from = this.#take("\\b") ? 8 : this.#member();
      const isRange = this.#comes("-") && !this.#comes("-]");
      if (!isRange) {
        members += membersOf(from);
        continue;
      }
      this.#at += 1;
      const to = this.#take("\\b") ? 8 : this.#member();
      // With a class at either end, JavaScript treats the hyphen as a literal.
      members +=
        typeof from === "number" && typeof to === "number"
          ? `${literal(from)}-${literal(to)}`
          : `${membersOf(from)}${literal(45)}${membersOf(to)}`;
    }
    if (members === "") return isNegated ? `[${anything}]` : `[^${anything}]`;
    return `[${isNegated ? "^" : ""}${members}]`;
  }

  /** Reads one character as its code point, or the members of an escaped class. */
  #member(): number | { readonly members: string } {
    const character = this.#one();
    return character === "\\" ? this.#escape() : codePoint(character);
  }

  #escape(): number | { readonly members: string } {
    const letter = this.#one();
    if ("dDwW".includes(letter)) return { members: `\\${letter}` };
    if (letter === "s") return { members: space };
    if (letter === "S") return { members: noSpace };
    const control = controls[letter];
    if (control !== undefined) return control;
    switch (letter) {
      case "0":
        if (!/^\d$/.test(this.#next(1))) return 0;
        throw new UntranslatablePart(`the octal escape "\\0${this.#next(1)}"`);
      case "c":
        if (/^[A-Za-z]$/.test(this.#next(1))) return codePoint(this.#one()) % 32;
        break;
      case "x": {
        const code = this.#hex(2);
        if (code !== null) return code;
        break;
      }
      case "u": {
        const code = this.#unicode();
        if (code !== null) return code;
        break;
      }
      case "p":
      case "P": {
        if (!this.#comes("{")) break;
        return { members: `\\${letter}{${this.#property()}}` };
      }
    }
    if (/^[1-9]$/.test(letter)) throw new UntranslatablePart(`the backreference "\\${letter}"`);
    if (letter === "k") throw new UntranslatablePart('the backreference "\\k"');
    if (/^[A-Za-z]$/.test(letter)) throw new UntranslatablePart(`the escape "\\${letter}"`);
    return codePoint(letter);
  }

  #unicode(): number | null {
    if (this.#take("{")) {
      const end = this.#characters.indexOf("}", this.#at);
      const digits = this.#characters.slice(this.#at, Math.max(this.#at, end)).join("");
      const code = /^[0-9a-fA-F]+$/.test(digits) ? Number.parseInt(digits, 16) : Infinity;
      if (code > 0x10ffff) return null;
      this.#at = end + 1;
      return code;
    }
    const high = this.#hex(4);
    if (high === null || high < 0xd800 || high > 0xdbff || !this.#comes("\\u")) return high;
    const from = this.#at;
    this.#take("\\u");
    const low = this.#hex(4) ?? 0;
    if (low >= 0xdc00 && low <= 0xdfff) return (high - 0xd800) * 0x400 + (low - 0xdc00) + 0x10000;
    this.#at = from;
    return high;
  }

  #hex(length: number): number | null {
    const digits = this.#next(length);
    if (digits.length < length || !/^[0-9a-fA-F]+$/.test(digits)) return null;
    this.#at += length;
    return Number.parseInt(digits, 16);
  }

  /** Reads a Unicode property and returns its RE2 name. */
  #property(): string {
    const end = this.#characters.indexOf("}", this.#at);
    const written = this.#characters.slice(this.#at + 1, Math.max(this.#at, end)).join("");
    this.#at = end + 1;
    const name = written.replace(/^(?:General_Category|gc|Script|sc)=/, "");
    if (end < 0 || !/^\w+$/.test(name)) {
      throw new UntranslatablePart(`the Unicode property "${written}"`);
    }
    return Object.hasOwn(categories, name) ? (categories[name] ?? name) : name;
  }

  #one(): string {
    const character = this.#characters[this.#at] ?? "\\";
    this.#at += 1;
    return character;
  }

  #next(length: number): string {
    return this.#characters.slice(this.#at, this.#at + length).join("");
  }

  #comes(text: string): boolean {
    return this.#next(text.length) === text;
  }

  #take(text: string): boolean {
    if (!this.#comes(text)) return false;
    this.#at += text.length;
    return true;
  }
}

function membersOf(member: number | { readonly members: string }): string {
  return typeof member === "number" ? literal(member) : member.members;
}

function codePoint(character: string): number {
  return character.codePointAt(0) ?? 0;
}

/** Escapes a character, inside or outside a class. */
function literal(code: number): string {
  if (code >= 0xd800 && code <= 0xdfff) {
    throw new UntranslatablePart(`half of a surrogate pair, \\u${code.toString(16)}`);
  }
  const character = String.fromCodePoint(code);
  return /^\w$/.test(character) ? character : `\\x{${code.toString(16).toUpperCase()}}`;
}

/** A regular expression that matches in linear time, without backtracking. */
export interface LinearPattern {
  /** The original source. */
  readonly pattern: string;
  /** Maximum cost per character of the text. */
  readonly size: number;
  /** Returns whether the pattern matches anywhere in the text. */
  readonly test: (text: string) => boolean;
}

/**
 * Compiles an ECMA-262 regular expression, the dialect of JSON Schema patterns, for RE2. Invalid expressions return a
 * `problem`, as do lookaround, backreferences and other parts that require backtracking.
 */
export function linearPattern(
  pattern: string,
): { readonly ok: true; readonly value: LinearPattern } | { ok: false; problem: string } {
  if (pattern.length > limits.patternLength) {
    return refused(`the regular expression is longer than ${limits.patternLength} characters`);
  }
  const syntaxProblem = problemIn(pattern);
  if (syntaxProblem !== undefined) return refused(`not a regular expression: ${syntaxProblem}`);
  try {
    const { source, size } = translatePattern(pattern);
    if (size > limits.patternSize) {
      return refused(`the regular expression repeats more than ${limits.patternSize} parts`);
    }
    const compiled = re2().RE2JS.compile(source);
    return { ok: true, value: { pattern, size, test: (text) => compiled.test(text) } };
  } catch (thrown) {
    const part = errorMessage(thrown).replace("error parsing regexp: ", "");
    return refused(`the regular expression cannot be matched in linear time: it has ${part}`);
  }
}

function refused(problem: string) {
  return { ok: false, problem } as const;
}

/** Returns JavaScript's syntax error, if any. Only with the flag `u` does it accept `\u{61}+`, only without it `\-`. */
function problemIn(pattern: string): string | undefined {
  const [problem, ...others] = ["", "u"].flatMap((flags) => {
    try {
      RegExp(pattern, flags);
      return [];
    } catch (thrown) {
      return [errorMessage(thrown)];
    }
  });
  return others.length > 0 ? problem : undefined;
}
