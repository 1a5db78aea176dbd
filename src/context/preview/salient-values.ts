import { isRecord } from "../../values/json.ts";
import { cleanText } from "../clean-text.ts";
import { attempt, cutMiddle, plainValue } from "./preview-string.ts";
import {
  isSalientValue,
  isStrong,
  isTime,
  isTimed,
  isTimestamp,
  salientWords,
} from "./salient-words.ts";

/** Objects, lists and fields that are looked at. */
const visitedNodes = 50_000;
/** Characters of all texts that are looked at. */
const readCharacters = 2_000_000;
/** Items of a long list that are looked at: from its head, and from its tail. */
const headItems = 3000;
const tailItems = 500;
/** Longer texts are not parsed as JSON. */
const parsedCharacters = 1_000_000;
const maxDepth = 50;

/** A statement about one or more values of a result that a next tool call may need. */
export interface SalientFact {
  /** The key of the value, or of the list that it is in; for a row with its columns. Empty at the top of a result. */
  readonly name: string;
  /** `NO6JO3`, `SFO: San Francisco`; for a row `HAT136, 2024-05-20, 152`. */
  readonly text: string;
  /** The values that it is about. */
  readonly values: readonly string[];
  /** Name and text without numbers that only stand next to a value; null for a timestamp, which calls seldom need. */
  readonly short: Pick<SalientFact, "name" | "text"> | null;
}

/**
 * Returns what a next tool call may need from a result, in its order, until `limit` values are found: identifiers, codes,
 * dates, addresses, words of enumerations such as `one_way`, and the keys of dictionaries. Prices, counts, times of day
 * and prose are not among it. Each value has its name. Alike objects are rows, in which short numbers and words stay
 * next to the values that they belong to; what all rows share stands once, in their name.
 *
 * The cost is bounded: of long lists and texts the head and the tail are looked at. Never throws.
 */
export function salientFacts(value: unknown, limit: number): readonly SalientFact[] {
  const search = new Search(limit);
  search.visit(value, "", 0);
  return search.facts;
}

/** `reservations: NO6JO3, AIXC49; flights(number, date, status=open): HAT1, 2024-05-17 | HAT2, 2024-05-18` */
export function factsText(facts: readonly Pick<SalientFact, "name" | "text">[]): string {
  let text = "";
  let name: string | null = null;
  for (const fact of facts) {
    if (fact.name === name) text += name.endsWith(")") ? ` | ${fact.text}` : `, ${fact.text}`;
    else {
      const title = fact.name === "" ? "" : `${fact.name}: `;
      text += `${name === null ? "" : "; "}${title}${fact.text}`;
      ({ name } = fact);
    }
  }
  return text;
}

/** Rows of a list whose columns are found together. */
const rowsOfTable = 100;

/** Characters of names, of a row's words that are no identifiers, and columns of a row. */
const nameCharacters = 60;
const wordCharacters = 24;
const mostColumns = 8;

interface Cell {
  readonly key: string;
  readonly text: string;
  readonly isSalient: boolean;
  /** Whether a short row has it: numbers and timestamps are left out there. */
  readonly isKept: boolean;
}

interface FoundRow {
  readonly cells: readonly Cell[];
  /** Fields that are no cells. */
  readonly rest: readonly (readonly [key: string, value: unknown])[];
}

class Search {
  readonly #facts = new Map<string, SalientFact>();
  readonly #limit: number;
  readonly #seen = new Set<object>();
  /** Values in rows. */
  readonly #found = new Set<string>();
  #values = 0;
  #nodes = visitedNodes;
  #characters = readCharacters;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get facts(): readonly SalientFact[] {
    return [...this.#facts.values()];
  }

  get #isOver(): boolean {
    return this.#values >= this.#limit || this.#nodes <= 0 || this.#characters <= 0;
  }

  #add(fact: Omit<SalientFact, "short"> & Partial<SalientFact>): void {
    const { name, text, values, short = { name, text } } = fact;
    const key = JSON.stringify([name, text]);
    if (this.#isOver || this.#facts.has(key)) return;
    const most = this.#limit - this.#values;
    this.#facts.set(key, { name, text, values: values.slice(0, most), short });
    this.#values += values.length;
  }

  #addValue(name: string, value: string): void {
    const text = cleanText(value);
    const short = isTimestamp(text) ? null : { name, text };
    this.#add({ name, text, values: [text], short });
  }

  visit(given: unknown, name: string, depth: number): void {
    this.#nodes -= 1;
    if (this.#isOver || depth > maxDepth) return;
    const value = given === undefined ? null : plainValue(given);
    if (typeof value === "string") this.#string(value, name, depth);
    else if (isSalientNumber(value)) this.#addValue(name, String(value));
    else if (this.#isNew(value)) attempt(() => this.#container(value, name, depth));
  }

  #isNew(value: unknown): value is object {
    if (typeof value !== "object" || value === null || this.#seen.has(value)) return false;
    this.#seen.add(value);
    return true;
  }

  #string(text: string, name: string, depth: number): void {
    if (isSalientValue(text)) this.#addValue(name, text);
    else if (text.length > 2 && !/^\d{1,2}:\d{2}\S*$/.test(text)) {
      const parsed = this.#parsed(text);
      this.#characters -= Math.min(text.length, 200_000);
      if (parsed !== null) return this.visit(parsed, name, depth + 1);
      for (const word of salientWords(text)) this.#addValue(name, word);
    }
  }

  #parsed(text: string): object | null {
    if (text.length > parsedCharacters || !/^\s*[[{]/.test(text)) return null;
    try {
      return JSON.parse(text) as object;
    } catch {
      return null;
    }
  }

  #container(value: object, name: string, depth: number): void {
    if (value instanceof Map) this.#items([...head(value)].flat(), name, depth);
    else if (value instanceof Set) this.#items([...head(value)], name, depth);
    else if (Array.isArray(value)) this.#items(value, name, depth);
    else this.#fields(value as Record<string, unknown>, name, depth);
  }

  #items(items: readonly unknown[], name: string, depth: number): void {
    const { length } = items;
    const gapFrom = length > headItems + tailItems ? headItems : length;
    let rows: Record<string, unknown>[] = [];
    const endRows = (): void => {
      this.#rows(rows, name, depth);
      rows = [];
    };
    for (let index = 0; index < length && !this.#isOver; index += 1) {
      if (index === gapFrom) index = Math.max(gapFrom, length - tailItems);
      const item = attempt(() => plainValue(items[index]));
      if (isRecord(item) && depth < maxDepth) {
        this.#nodes -= 1;
        if (this.#isNew(item)) rows.push(item);
        if (rows.length >= rowsOfTable) endRows();
      } else {
        endRows();
        this.visit(item, name, depth + 1);
      }
    }
    endRows();
  }

  /** Whether a row has a value that is new, or one that tells it from others: not every date once more. */
  #saysMore(cells: readonly Cell[]): boolean {
    const salient = cells.filter(({ isSalient }) => isSalient).map(({ text }) => text);
    const saysMore = salient.some(
      (text) => !this.#found.has(text) || (isStrong(text) && !isTimed(text)),
    );
    for (const text of salient) this.#found.add(text);
    return saysMore;
  }

  /** @param keys of the dictionary that the objects are in */
  #rows(
    objects: readonly Record<string, unknown>[],
    name: string,
    depth: number,
    keys?: readonly string[],
  ): void {
    const rows = objects.map((object, at) =>
      attempt(() => this.#row(fieldsOf(object), keys?.[at])),
    );
    const found = rows.filter((row) => typeof row !== "string");
    const tabled = found.filter(({ cells }) => this.#saysMore(cells));
    const all = tabled.map(({ cells }) => cells);
    const short = tableRows(all.map((cells) => cells.filter(({ isKept }) => isKept)));
    for (const [at, { columns, text }] of tableRows(all).entries()) {
      const row = all[at] ?? [];
      const { columns: few = "", text: brief = "" } = short[at] ?? {};
      this.#add({
        name: `${name}(${columns})`,
        text,
        values: row.filter(({ isSalient }) => isSalient).map((cell) => cell.text),
        short: few === "" ? null : { name: `${name}(${few})`, text: brief },
      });
    }
    for (const { rest } of found) {
      for (const [key, own] of rest) this.visit(own, nameText(key), depth + 1);
    }
  }

  #row(fields: readonly (readonly [string, unknown])[], entry?: string): FoundRow {
    const cells: Cell[] = [];
    const rest: (readonly [string, unknown])[] = [];
    const isNamed = fields.some(([, own]) => own === entry);
    if (entry !== undefined && !isNamed) cells.push(cellOf("*", entry, isSalientKey(entry)));
    for (const [key, own] of fields) {
      const value = own === undefined ? null : plainValue(own);
      const isSalient =
        isSalientNumber(value) || (typeof value === "string" && isSalientValue(value));
      if (isSalient || (isShortWord(value) && cells.length < mostColumns)) {
        cells.push(cellOf(key, value, isSalient));
      } else if (typeof value !== "number") rest.push([key, value]);
    }
    return { cells, rest };
  }

  #fields(object: Record<string, unknown>, name: string, depth: number): void {
    const fields = fieldsOf(object);
    const isDictionary = areAlike(fields.map(([, own]) => own));
    if (isDictionary && isRecord(fields[0]?.[1]) && fields.some(([key]) => isSalientKey(key))) {
      this.#nodes -= fields.length;
      const rows = fields.filter(([, own]) => this.#isNew(own));
      const keys = rows.map(([key]) => key);
      return this.#rows(
        rows.map(([, own]) => own as Record<string, unknown>),
        name,
        depth,
        keys,
      );
    }
    for (const [key, own] of fields) {
      if (this.#isOver) return;
      if (isStrong(key) || (isDictionary && isSalientValue(key))) {
        const value = typeof own === "string" && isShortWord(own) ? `: ${cellText(own)}` : "";
        this.#add({ name, text: `${nameText(key)}${value}`, values: [cleanText(key)] });
      }
      this.visit(own, nameText(key), depth + 1);
    }
  }
}

function fieldsOf(object: Record<string, unknown>): readonly (readonly [string, unknown])[] {
  const keys = Object.keys(object);
  const kept =
    keys.length > headItems + tailItems
      ? [...keys.slice(0, headItems), ...keys.slice(-tailItems)]
      : keys;
  return kept.map((key) => [key, attempt(() => object[key])] as const);
}

function isSalientNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && Math.abs(value) >= 10_000;
}

function isSalientKey(key: string): boolean {
  return isStrong(key) || isSalientValue(key);
}

/** A number or a few words that tell something of what stands next to them; no time of day. */
function isShortWord(value: unknown): value is string | number {
  if (typeof value === "number") return Number.isFinite(value);
  return (
    typeof value === "string" &&
    value !== "" &&
    value.length <= wordCharacters &&
    !isTime(value) &&
    !/[\r\n\u2028\u2029]/.test(value)
  );
}

function cellOf(key: string, value: unknown, isSalient: boolean): Cell {
  const text = isSalient ? cleanText(String(value)) : cutMiddle(String(value), nameCharacters);
  const isKept = isSalient
    ? !isTimestamp(text) && !/^[A-Z]+$/.test(text)
    : typeof value !== "number";
  return { key, text: isSalient ? text : cellText(text), isSalient, isKept };
}

function inOneLine(text: string): string {
  return cleanText(text).replace(/\s+/g, " ");
}

/** Quoted where it has signs that part cells. */
function cellText(text: string): string {
  const line = inOneLine(text);
  return /[,;|:()="]/.test(line) ? JSON.stringify(line) : line;
}

/** Names come from results: they are cut, and quoted where they could be taken for more than a name. */
function nameText(key: string): string {
  const cut = inOneLine(cutMiddle(key, nameCharacters));
  return /^[\p{L}\p{N}_.$@/* -]*$/u.test(cut) ? cut : JSON.stringify(cut);
}

interface TableRow {
  readonly columns: string;
  readonly text: string;
}

/** Rows under the columns that they have in common. Columns with one value in all rows have it in the heading. */
function tableRows(rows: readonly (readonly Cell[])[]): readonly TableRow[] {
  const texts = new Map<string, string[]>();
  for (const { key, text } of rows.flat()) {
    const known = texts.get(key);
    if (known === undefined) texts.set(key, [text]);
    else known.push(text);
  }
  const filled = rows.reduce((sum, cells) => sum + cells.length, 0);
  if (rows.length > 1 && rows.length * texts.size > 2 * filled) {
    return rows.flatMap((cells) => tableRows([cells]));
  }
  const columns = [...texts].map(([key, [first = "", ...others]]) => {
    const isFixed = others.length > 0 && others.length === rows.length - 1;
    return { key, first, isFixed: isFixed && others.every((text) => text === first) };
  });
  const open = columns.some(({ isFixed }) => !isFixed)
    ? columns.filter(({ isFixed }) => !isFixed)
    : columns;
  const fixed = columns.filter((column) => !open.includes(column));
  const heading = [
    ...open.map(({ key }) => nameText(key)),
    ...fixed.map(({ key, first }) => `${nameText(key)}=${first}`),
  ].join(", ");
  return rows.map((cells) => ({
    columns: heading,
    text: open.map(({ key }) => cells.find((cell) => cell.key === key)?.text ?? "").join(", "),
  }));
}

/** All numbers, all truths or all objects with keys in common: their keys are not the names of fields. */
function areAlike(values: readonly unknown[]): boolean {
  const [first] = values;
  if (values.length < 2) return false;
  if (typeof first === "number" || typeof first === "boolean") {
    return values.every((value) => typeof value === typeof first);
  }
  if (!isRecord(first)) return false;
  const [key = ""] = Object.keys(first);
  return values.every((value) => isRecord(value) && Object.hasOwn(value, key));
}

function* head<T>(values: Iterable<T>): Iterable<T> {
  let left = headItems;
  for (const value of values) {
    if (left <= 0) return;
    left -= 1;
    yield value;
  }
}
