import { isRecord } from "../../values/json.ts";

/** Levels of nesting that are read. The notation is not written deeper. */
const maxDepth = 150;

/** Where a text is no notation. Never leaves this file's callers. */
class NotNotation extends SyntaxError {}

type Title =
  | { readonly kind: "cell"; readonly key: string }
  | { readonly kind: "fixed"; readonly key: string; readonly value: unknown }
  | { readonly kind: "group"; readonly key: string; readonly titles: readonly Title[] };

/** Reads the notation of one value from left to right, in linear time. */
class NotationReader {
  readonly #text: string;
  /** Where the objects and lists open that are tables: a row ends directly in them. */
  readonly #tables: ReadonlySet<number>;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tables = tablesIn(text);
  }

  /** @throws NotNotation */
  read(): unknown {
    const value = this.#value();
    if (this.#at < this.#text.length) throw new NotNotation();
    return value;
  }

  #value(): unknown {
    const char = this.#text[this.#at];
    if (char !== "{" && char !== "[") return this.#atom();
    const isTable = this.#tables.has(this.#at);
    this.#at += 1;
    return this.#deeper(() => (char === "{" ? this.#object(isTable) : this.#list(isTable)));
  }

  #deeper<T>(read: () => T): T {
    if (this.#depth >= maxDepth) throw new NotNotation();
    this.#depth += 1;
    const value = read();
    this.#depth -= 1;
    return value;
  }

  #object(isTable: boolean): unknown {
    if (isTable) return this.#dictionary();
    const entries: [string, unknown][] = [];
    if (this.#take("}")) return {};
    do {
      const key = this.#key();
      this.#expect(":");
      entries.push([key, this.#value()]);
    } while (this.#take(", ") || this.#take(","));
    this.#expect("}");
    return Object.fromEntries(entries);
  }

  #list(isTable: boolean): unknown {
    if (isTable) return this.#rows();
    const items: unknown[] = [];
    if (this.#take("]")) return items;
    do items.push(this.#value());
    while (this.#take(","));
    this.#expect("]");
    return items;
  }

  #rows(): unknown {
    const titles = this.#titles();
    const width = widthOf(titles);
    const groups: unknown[][] = [[]];
    const isGrouped = this.#takeGroupEnd();
    if (!isGrouped && !this.#takeRowEnd()) throw new NotNotation();
    for (;;) {
      groups.at(-1)?.push(this.#row(titles, width));
      if (isGrouped && this.#takeGroupEnd()) groups.push([]);
      else if (!this.#takeRowEnd()) break;
    }
    this.#expect("]");
    // What stands for further lists is a group of its own.
    return isGrouped ? groups.map((group) => (isRest(group) ? group[0] : group)) : groups[0];
  }

  #dictionary(): unknown {
    this.#expect("*,");
    const titles = this.#titles();
    const width = widthOf(titles);
    const entries: [string, unknown][] = [];
    if (!this.#takeRowEnd()) throw new NotNotation();
    do {
      const key = this.#key();
      if (width > 0) this.#expect(",");
      entries.push([key, this.#row(titles, width)]);
    } while (this.#takeRowEnd());
    this.#expect("}");
    return Object.fromEntries(entries);
  }

  /** An object, or what stands in the place of a last one. */
  #row(titles: readonly Title[], width: number): unknown {
    const cells: unknown[] = [];
    if (width > 0) {
      do cells.push(this.#cell());
      while (this.#take(","));
    }
    if (cells.length === 1 && width > 1 && cells[0] !== undefined) return cells[0];
    if (cells.length !== width) throw new NotNotation();
    return objectOf(titles, cells.values());
  }

  /** Undefined where the cell is empty. */
  #cell(): unknown {
    return /[,;\n\]}]/.test(this.#text[this.#at] ?? "") ? undefined : this.#value();
  }

  #titles(): readonly Title[] {
    const titles: Title[] = [];
    do {
      const key = this.#key();
      if (this.#take("=")) titles.push({ kind: "fixed", key, value: this.#value() });
      else if (this.#take("{")) {
        titles.push({ kind: "group", key, titles: this.#deeper(() => this.#titles()) });
        this.#expect("}");
      } else titles.push({ kind: "cell", key });
    } while (this.#take(","));
    return titles;
  }

  #key(): string {
    if (this.#text[this.#at] === '"') return this.#quoted();
    return this.#match(/[^,;{}[\]":=*\n]+/y);
  }

  #atom(): unknown {
    if (this.#text[this.#at] === '"') return this.#quoted();
    const text = this.#match(/[^,;{}[\]"\n]+/y);
    if (/^\s|\s$/.test(text)) throw new NotNotation();
    if (/^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/.test(text)) {
      return JSON.parse(text) as unknown;
    }
    return text;
  }

  #quoted(): string {
    const text = this.#match(/"(?:[^"\\\n]|\\.)*"/y);
    try {
      return JSON.parse(text) as string;
    } catch {
      throw new NotNotation();
    }
  }

  #takeRowEnd(): boolean {
    return this.#take("; ") || this.#take("\n");
  }

  #takeGroupEnd(): boolean {
    return this.#take(";; ") || this.#take("\n\n");
  }

  #take(part: string): boolean {
    if (!this.#text.startsWith(part, this.#at)) return false;
    this.#at += part.length;
    return true;
  }

  #expect(part: string): void {
    if (!this.#take(part)) throw new NotNotation();
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.#text) ?? [];
    if (found === undefined) throw new NotNotation();
    this.#at += found.length;
    return found;
  }
}

function tablesIn(text: string): ReadonlySet<number> {
  const open: number[] = [];
  const tables = new Set<number>();
  for (const { 0: sign, index } of text.matchAll(/"(?:[^"\\\n]|\\.)*"|[[\]{};\n]/g)) {
    if (sign === "[" || sign === "{") open.push(index);
    else if (sign === "]" || sign === "}") open.pop();
    else if (sign === ";" || sign === "\n") tables.add(open.at(-1) ?? -1);
  }
  return tables;
}

function isRest(group: readonly unknown[]): boolean {
  return group.length === 1 && (typeof group[0] !== "object" || group[0] === null);
}

function widthOf(titles: readonly Title[]): number {
  let width = 0;
  for (const title of titles) {
    if (title.kind === "group") width += widthOf(title.titles);
    else if (title.kind === "cell") width += 1;
  }
  return width;
}

function objectOf(titles: readonly Title[], cells: Iterator<unknown>): Record<string, unknown> {
  const entries: [string, unknown][] = [];
  for (const title of titles) {
    if (title.kind === "group") entries.push([title.key, objectOf(title.titles, cells)]);
    else {
      const value = title.kind === "fixed" ? title.value : (cells.next().value as unknown);
      if (value !== undefined) entries.push([title.key, value]);
    }
  }
  return Object.fromEntries(entries);
}

/**
 * Reads what the context's `compactNotation` writes, and JSON. A text that is neither is returned as it is, and so is
 * one nested more than 150 levels deep that is not JSON. Never throws. Takes linear time.
 */
export function readNotation(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return notation(text);
  }
}

function notation(text: string): unknown {
  const trimmed = text.trim();
  if (!/^[[{]/.test(trimmed)) return text;
  try {
    const value = new NotationReader(trimmed).read();
    return isLabel(value) ? text : value;
  } catch (thrown) {
    if (thrown instanceof NotNotation) return text;
    throw thrown;
  }
}

/** `[truncated]`: a single string in brackets is never given as notation, since it would save next to nothing. */
function isLabel(value: unknown): boolean {
  return Array.isArray(value) && value.length === 1 && typeof value[0] === "string";
}

/** A tool call that was made, with what came of it. */
export interface Outcome {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly text: string;
  /** `text` as JSON or in the context's notation, where it is an object, an array or a number. */
  readonly value: unknown;
  readonly failed: boolean;
}

export function outcome(made: Omit<Outcome, "value">): Outcome {
  // This model's own words, where it has done a subtask for another.
  const text = made.text.replace(/^\[offline:rules\] /, "");
  return { ...made, text, value: parsed(text) };
}

function parsed(text: string): unknown {
  // A preview names after the value what is not shown of it.
  const trimmed = text.replace(/\nalso in it: [^\n]*$/, "").trim();
  if (!/^([[{]|-?\d+(\.\d+)?$|"|true$|false$)/.test(trimmed)) return undefined;
  const value = readNotation(trimmed);
  return value === trimmed ? undefined : value;
}

/** The number that "it" stands for after a result: the result itself, or its only or leading number. */
export function numberOf({ value, text }: Outcome): string | null {
  if (typeof value === "number") return String(value);
  if (isRecord(value)) {
    const main = ["result", "value", "answer", "total", "sum", "count"].map((key) => value[key]);
    const numbers = [...main, ...Object.values(value)].filter((one) => typeof one === "number");
    return numbers.length > 0 ? String(numbers[0]) : null;
  }
  if (Array.isArray(value)) return String(value.length);
  const found = text.replace(/(\d),(?=\d{3}\b)/g, "$1").match(/-?\d+(?:\.\d+)?/g) ?? [];
  const last = found.at(-1);
  return last !== undefined && text.length <= 200 ? last : null;
}

/** The first value under a key, at any depth. Keys are compared without case, `_` and `-`. */
export function valueUnder(key: string, value: unknown): unknown {
  const wanted = plainKey(key);
  if (Array.isArray(value)) {
    for (const item of value) {
      const found = valueUnder(key, item);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  for (const [name, own] of Object.entries(value)) if (plainKey(name) === wanted) return own;
  for (const own of Object.values(value)) {
    const found = valueUnder(key, own);
    if (found !== undefined) return found;
  }
  return undefined;
}

function plainKey(key: string): string {
  return key.toLowerCase().replace(/[-_\s]/g, "");
}
