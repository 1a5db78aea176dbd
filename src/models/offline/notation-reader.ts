/** Levels of nesting that are read. The notation is not written deeper. */
const maxDepth = 150;

/** Where a text is no notation. Never leaves this file's callers. */
export class NotNotation extends SyntaxError {}

type Title =
  | { readonly kind: "cell"; readonly key: string }
  | { readonly kind: "fixed"; readonly key: string; readonly value: unknown }
  | { readonly kind: "group"; readonly key: string; readonly titles: readonly Title[] };

/** Reads the notation of one value from left to right, in linear time. */
export class NotationReader {
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
