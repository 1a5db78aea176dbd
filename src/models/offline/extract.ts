import { isRecord } from "../../values/json.ts";
import { headOf } from "../../values/text.ts";
import { overlap, stemsOf, wordsOf } from "../words.ts";
import { partsOf } from "./answer.ts";
import { propertiesOf, type Schema, typeOf } from "./facts.ts";
import { outcome } from "./notation.ts";

const longestExtract = 800;
const mostParts = 8;
const partCharacters = 300;

const phrase = /\bExtract from this tool result\b/i;

/** Average characters of a word with its space. */
const charactersOfWord = 6;

interface Wanted {
  readonly limit: number;
  readonly goal: string;
  readonly question: string;
  readonly result: string;
}

/** Whether a message asks for what matters in the result that stands in it. */
export function asksForExtract(text: string): boolean {
  return sectionsOf(text) !== null;
}

/** The sentences or rows of the result that share most words with the question, else with the goal, in their own order. */
export function extractFor(request: string): string {
  const wanted = sectionsOf(request);
  if (wanted === null) return "";
  const { question, goal, result, limit } = wanted;
  const rows = rowsOf(result);
  const asked = sharing(rows, question, limit);
  const scored = asked.length > 0 ? asked : sharing(rows, goal, limit);
  if (scored.length === 0) {
    const nothing = "Nothing in it shares words with the question. It begins: ";
    return clip(nothing + clip(result.trim(), partCharacters), limit);
  }
  let room = limit;
  const kept = scored.slice(0, mostParts).filter(({ row }) => (room -= row.length + 1) >= -1);
  return kept
    .toSorted((one, other) => one.i - other.i)
    .map(({ row }) => row)
    .join("\n");
}

/** The best first. */
function sharing(rows: readonly string[], words: string, limit: number) {
  const asked = stemsOf(words);
  return rows
    .map((row, i) => ({
      row: clip(row, Math.min(partCharacters, limit)),
      i,
      score: overlap(asked, row),
    }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score || a.i - b.i);
}

/** The sections begin with their names at the beginning of a line; the result is the last one, and may hold anything. */
function sectionsOf(text: string): Wanted | null {
  const start = /^Result:[^\S\n]*\n?/m.exec(text);
  if (start === null) return null;
  const head = text.slice(0, start.index);
  const goal = sectionIn(head, "Goal");
  const question = sectionIn(head, "Question");
  if (!phrase.test(head) || (goal === "" && question === "")) return null;
  const result = text.slice(start.index + start[0].length);
  const words = Number(/\bat most ([\d,]+) words\b/i.exec(head)?.[1]?.replaceAll(",", "") ?? NaN);
  const limit = Math.min(longestExtract, Number.isNaN(words) ? Infinity : words * charactersOfWord);
  return {
    limit,
    goal,
    question,
    result: result.replace(/^\s*<result>\n?|\n?<\/result>\s*$/g, ""),
  };
}

function sectionIn(head: string, name: "Goal" | "Question"): string {
  const start = head.search(new RegExp(`^${name}:`, "m"));
  if (start < 0) return "";
  const own = head.slice(start + name.length + 1);
  const end = own.search(/^(?:Goal|Question):/m);
  return (end < 0 ? own : own.slice(0, end)).trim();
}

/** Rows of a list, properties of an object, lines and sentences of a text. */
export function rowsOf(text: string): readonly string[] {
  const { value } = outcome({ name: "", args: {}, text, failed: false });
  return value === undefined ? partsOf(text) : rowsIn(value);
}

function rowsIn(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.map((item) => told(item));
  if (!isRecord(value)) return [told(value)];
  return Object.entries(value).flatMap(([key, own]) => {
    if (Array.isArray(own)) return own.map((item) => told(item));
    if (typeof own === "string" && (own.includes("\n") || own.length > 200)) return partsOf(own);
    return [`${key}: ${told(own)}`];
  });
}

function told(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "null");
}

function clip(text: string, length: number): string {
  return text.length <= length ? text : `${headOf(text, Math.max(0, length - 1)).trimEnd()}…`;
}

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
