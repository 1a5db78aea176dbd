import { isRecord } from "../values/json.ts";

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Signs of the notation, white space other than a space, controls, and halves of surrogate pairs. */
const special = /[,;{}[\]"]|[^\S ]|\p{Cc}|\p{Cs}/u;
/** Most strings: they need no closer look. */
const ordinary = /^[\w.:@/+#-](?:[\w .:@/+#-]*[\w.:@/+#-])?$/;
const specialInKey = /[:=*]/;

/** A string bare where it can be read as nothing else, otherwise as JSON; what is no string as JSON. */
function atomText(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value) ?? "null";
  return isBare(value) && !jsonNumber.test(value) && !/^(?:true|false|null)$/.test(value)
    ? value
    : JSON.stringify(value);
}

/** Keys are always strings, so that those which look like a number stay bare. */
function keyText(key: string): string {
  return isBare(key) && !specialInKey.test(key) ? key : JSON.stringify(key);
}

function isBare(text: string): boolean {
  if (ordinary.test(text)) return true;
  return text !== "" && !text.startsWith(" ") && !text.endsWith(" ") && !special.test(text);
}

/** A column of a table of alike objects. Objects under one key that all have the same keys are columns of their own. */
export type Column =
  | { readonly key: string; readonly kind: "cells"; readonly cells: readonly string[] }
  | { readonly key: string; readonly kind: "fixed"; readonly text: string }
  | { readonly key: string; readonly kind: "group"; readonly columns: readonly Column[] };

type Row = Readonly<Record<string, unknown>>;
type CellText = (value: unknown) => string;

/**
 * The columns of objects that have most keys in common, those first that differ from row to row; null where fewer than
 * half of the cells would be filled. The text of a missing key is empty.
 */
function columnsOf(rows: readonly Row[], cellText: CellText): readonly Column[] | null {
  const columns = columnsInOrder(rows, cellText);
  if (columns === null) return null;
  return [...columns.filter((column) => !isFixed(column)), ...columns.filter(isFixed)];
}

function columnsInOrder(rows: readonly Row[], cellText: CellText): readonly Column[] | null {
  const keys = new Set<string>();
  let filled = 0;
  for (const row of rows) {
    for (const key of Object.keys(row)) {
      keys.add(key);
      filled += 1;
    }
  }
  if (keys.size === 0 || rows.length * keys.size > 2 * filled) return null;
  return Array.from(keys, (key) => columnOf(key, rows, cellText));
}

function columnOf(key: string, rows: readonly Row[], cellText: CellText): Column {
  const group = groupOf(key, rows, cellText);
  if (group !== null) return group;
  const cells = rows.map((row) => (Object.hasOwn(row, key) ? cellText(row[key]) : ""));
  const [first = ""] = cells;
  if (cells.length > 1 && cells.every((cell) => cell === first)) {
    return { key, kind: "fixed", text: first };
  }
  return { key, kind: "cells", cells };
}

function groupOf(key: string, rows: readonly Row[], cellText: CellText): Column | null {
  const inner: Row[] = [];
  let keys: readonly string[] | null = null;
  for (const row of rows) {
    const value = Object.hasOwn(row, key) ? row[key] : undefined;
    if (!isRecord(value)) return null;
    keys ??= Object.keys(value);
    if (Object.keys(value).length !== keys.length) return null;
    if (!keys.every((one) => Object.hasOwn(value, one))) return null;
    inner.push(value);
  }
  const columns = columnsInOrder(inner, cellText);
  if (columns === null) return null;
  // Within a group that has cells a value in the header would be easy to miss when its cells are counted.
  const shown = columns.every(isFixed)
    ? columns
    : columns.map((one) => withCells(one, rows.length));
  return { key, kind: "group", columns: shown };
}

function withCells(column: Column, count: number): Column {
  const { key, kind } = column;
  if (kind === "cells") return column;
  if (kind === "fixed") return { key, kind: "cells", cells: Array(count).fill(column.text) };
  return { key, kind, columns: column.columns.map((one) => withCells(one, count)) };
}

function isFixed(column: Column): boolean {
  return column.kind === "group" ? column.columns.every(isFixed) : column.kind === "fixed";
}

/** The columns that every row has a cell for, from left to right. */
function cellsOf(columns: readonly Column[]): readonly (readonly string[])[] {
  return columns.flatMap((column) => {
    if (column.kind === "group") return cellsOf(column.columns);
    return column.kind === "cells" ? [column.cells] : [];
  });
}

/** `id,seats{economy,business},status=open` */
function headerText(columns: readonly Column[]): string {
  return columns.map(titleOf).join(",");
}

function titleOf(column: Column): string {
  const key = keyText(column.key);
  if (column.kind === "group") return `${key}{${headerText(column.columns)}}`;
  return column.kind === "fixed" ? `${key}=${column.text}` : key;
}

/** Shorter JSON than this is given as it is. */
const smallJson = 80;

/** Below this share of the JSON's characters the notation is worth its being less usual. */
const worthwhile = 0.9;

/**
 * A JSON value in fewer tokens than JSON has, and without loss: `readNotation` reads it back. Keys and strings are bare
 * where that is unambiguous; alike objects are a table, whose columns come first, those that are the same in all rows
 * with their value:
 *
 *     {id:R1, flights:[number,date,seats{economy,business},status=open; HAT1,2024-05-17,3,9; HAT2,2024-05-18,,1]}
 *
 * The rows of a long table are on lines of their own. `{*,name; a1,Ann; b2,Bob}` is an object of alike objects, `*` its
 * keys; `[a,b;; 1,2; 3,4;; 5,6]` is a list of lists. An empty cell is a missing key. After Token-Oriented Object Notation
 * (TOON). A string is returned as it is; small values, and those that would hardly be shorter, are plain JSON. Tables make
 * it 79 % of JSON's tokens for the results of a customer service's tools.
 * @throws TypeError where `JSON.stringify` does: for cycles and big integers.
 */
export function compactNotation(value: unknown): string {
  if (typeof value === "string") return value;
  const json = JSON.stringify(value) ?? "null";
  if (json.length < smallJson) return json;
  const writer = new NotationWriter();
  const text = writer.write(JSON.parse(json));
  return writer.isTooDeep || text.length > worthwhile * json.length ? json : text;
}

/** Levels of nesting that are written. */
const maxDepth = 100;

/** Characters of a table that stay on one line. */
const lineLength = 120;

/** Rows of a table, in groups where it is a list of lists. The rest is a string in the place of a last row. */
interface Rows {
  readonly rows: readonly Row[];
  /** The keys of a dictionary, one a row. */
  readonly names?: readonly string[];
  /** How many rows each list has. */
  readonly groups?: readonly number[];
  readonly rest?: string;
}

/** Writes one value. Every object and list in it is written once; what is shared is found again. */
class NotationWriter {
  /** Set when something was nested too deep to be written: the text is of no use then. */
  isTooDeep = false;
  readonly #written = new Map<object, string>();

  write(value: unknown, depth = 0): string {
    if (typeof value !== "object" || value === null) return atomText(value);
    const known = this.#written.get(value);
    if (known !== undefined) return known;
    if (depth > maxDepth) {
      this.isTooDeep = true;
      return "";
    }
    const text = Array.isArray(value) ? this.#list(value, depth) : this.#object(value, depth);
    this.#written.set(value, text);
    return text;
  }

  #list(items: readonly unknown[], depth: number): string {
    const plain = `[${items.map((item) => this.write(item, depth + 1)).join(",")}]`;
    const rows = this.isTooDeep ? null : (rowsOf(items) ?? groupedRowsOf(items));
    return rows === null ? plain : shorter(plain, this.#table("[", rows, depth, "]"));
  }

  #object(object: object, depth: number): string {
    const entries = Object.entries(object);
    const written = entries.map(([key, own]) => `${keyText(key)}:${this.write(own, depth + 1)}`);
    const plain = `{${written.join(", ")}}`;
    const rows = rowsOf(entries.map(([, own]) => own as unknown));
    if (rows === null || this.isTooDeep) return plain;
    const names = entries.map(([key]) => keyText(key));
    return shorter(plain, this.#table("{*,", { ...rows, names }, depth, "}"));
  }

  #table(open: string, table: Rows, depth: number, close: string): string | null {
    const { rows, names, groups, rest } = table;
    const columns = columnsOf(rows, (value) => this.write(value, depth + 2));
    if (columns === null) return null;
    const cells = cellsOf(columns);
    // A row without a comma must be a cell: neither a row that lacks all keys nor the rest of a list.
    const least = rest !== undefined || cells.some((column) => column.includes("")) ? 2 : 1;
    if (cells.length < least) return null;
    const lines = rows.map((_, row) => {
      const own = cells.map((column) => column[row] ?? "");
      return (names === undefined ? own : [names[row] ?? "", ...own]).join(",");
    });
    if (rest !== undefined) lines.push([...(names?.slice(-1) ?? []), atomText(rest)].join(","));
    const header = headerText(columns);
    const text = (part: string): string =>
      `${open}${header}${grouped(lines, groups, part)}${close}`;
    const inLine = text("; ");
    return inLine.length > lineLength ? text("\n") : inLine;
  }
}

/** Each row after a separator; a row that opens a group after two. */
function grouped(
  lines: readonly string[],
  groups: readonly number[] | undefined,
  separator: string,
): string {
  if (groups === undefined) return lines.map((line) => separator + line).join("");
  const opening = separator === "; " ? ";; " : "\n\n";
  const starts = new Set([0]);
  let end = 0;
  for (const size of groups) starts.add((end += size));
  return lines.map((line, row) => (starts.has(row) ? opening : separator) + line).join("");
}

/** Two objects or more, perhaps with a string after them that says how many there are besides. */
function rowsOf(items: readonly unknown[]): Rows | null {
  const last = items.at(-1);
  const rows = typeof last === "string" ? items.slice(0, -1) : items;
  if (rows.length < 2 || !rows.every(isRecord)) return null;
  return typeof last === "string" ? { rows, rest: last } : { rows };
}

function groupedRowsOf(items: readonly unknown[]): Rows | null {
  const last = items.at(-1);
  const lists = typeof last === "string" ? items.slice(0, -1) : items;
  if (lists.length < 2) return null;
  const rows: Row[] = [];
  const groups: number[] = [];
  for (const item of lists) {
    if (!Array.isArray(item) || item.length === 0 || !item.every(isRecord)) return null;
    for (const row of item) rows.push(row);
    groups.push(item.length);
  }
  return typeof last === "string" ? { rows, groups, rest: last } : { rows, groups };
}

function shorter(plain: string, table: string | null): string {
  return table !== null && table.length < plain.length ? table : plain;
}
