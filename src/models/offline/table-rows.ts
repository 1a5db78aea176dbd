import type { Schema } from "./property-kind.ts";
import { propertiesOf, typeOf } from "./property-kind.ts";
import { wordsOf } from "./words.ts";

/**
 * The rows of a table in a text, as objects of a schema: lines whose cells (parted by tabs, `|` or two spaces and more)
 * are as many as the schema has properties and of their types. A line with the names of all properties says in which
 * order they come; without one it is the schema's own.
 */
export function tableRows(items: Schema, text: string): Record<string, unknown>[] {
  const properties = Object.entries(propertiesOf(items));
  let order: readonly (readonly [string, Schema])[] = properties;
  const rows: Record<string, unknown>[] = [];
  for (const line of properties.length < 2 ? [] : text.split("\n")) {
    const cells = cellsOf(line);
    if (cells.length !== properties.length) continue;
    const titled = cells.map((cell) => properties.find(([name]) => saysSame(name, cell)));
    const header = titled.filter((one) => one !== undefined);
    if (new Set(header).size === properties.length) order = header;
    else {
      const values = order.map(([, schema], i) => valueOf(cells[i] ?? "", typeOf(schema)));
      if (values.includes(undefined)) continue;
      rows.push(Object.fromEntries(order.map(([name], i) => [name, values[i]])));
    }
  }
  return rows;
}

function cellsOf(line: string): string[] {
  return line
    .replace(/^\s*\||\|\s*$/g, "")
    .split(/\s*\|\s*|\t+|\s{2,}/)
    .map((cell) => cell.trim())
    .filter((cell) => cell !== "");
}

function saysSame(name: string, cell: string): boolean {
  return wordsOf(name).join(" ") === wordsOf(cell).join(" ");
}

function valueOf(cell: string, type: string): unknown {
  if (type === "string") return /^[-:]+$/.test(cell) ? undefined : cell;
  if (type !== "number" && type !== "integer") return undefined;
  const plain = cell.replace(/,(?=\d{3}\b)/g, "");
  return /^-?\d+(\.\d+)?$/.test(plain) ? Number(plain) : undefined;
}
