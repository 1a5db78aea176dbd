import { isRecord } from "../../state/is-record.ts";
import { keyText } from "./atoms.ts";

/** A column of a table of alike objects. Objects under one key that all have the same keys are columns of their own. */
export type Column =
  | { readonly key: string; readonly kind: "cells"; readonly cells: readonly string[] }
  | { readonly key: string; readonly kind: "fixed"; readonly text: string }
  | { readonly key: string; readonly kind: "group"; readonly columns: readonly Column[] };

export type Row = Readonly<Record<string, unknown>>;
type CellText = (value: unknown) => string;

/**
 * The columns of objects that have most keys in common, those first that differ from row to row; null where fewer than
 * half of the cells would be filled. The text of a missing key is empty.
 */
export function columnsOf(rows: readonly Row[], cellText: CellText): readonly Column[] | null {
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
export function cellsOf(columns: readonly Column[]): readonly (readonly string[])[] {
  return columns.flatMap((column) => {
    if (column.kind === "group") return cellsOf(column.columns);
    return column.kind === "cells" ? [column.cells] : [];
  });
}

/** `id,seats{economy,business},status=open` */
export function headerText(columns: readonly Column[]): string {
  return columns.map(titleOf).join(",");
}

function titleOf(column: Column): string {
  const key = keyText(column.key);
  if (column.kind === "group") return `${key}{${headerText(column.columns)}}`;
  return column.kind === "fixed" ? `${key}=${column.text}` : key;
}
