import { isRecord } from "../../state/is-record.ts";
import { atomText, keyText } from "./atoms.ts";
import { cellsOf, columnsOf, headerText, type Row } from "./columns.ts";

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
export class NotationWriter {
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
