import { InvalidCursorError, InvalidValueError, NotFoundError } from "./errors.ts";
import type { ValueCipher } from "../encryption/value-cipher.ts";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** @throws NotFoundError for a text that is no id */
export function checkId(subject: string, id: string): string {
  if (!uuid.test(id)) throw new NotFoundError(subject, id);
  return id;
}

/** The time in a version 7 UUID. */
export function timeOfId(id: string): Date {
  return new Date(Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16));
}

/** The lowest version 7 UUID of a time. */
export function firstIdAt(time: Date): string {
  const hex = Math.max(0, time.getTime()).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
}

/** Whether Postgres stores the text as it is: it has no NUL character and no half of a surrogate pair. */
function isStorable(text: string): boolean {
  return !/\0|\p{Surrogate}/u.test(text);
}

/** @throws InvalidValueError unless the text has 1 to `most` characters that can be stored */
export function checkText(field: string, text: string, most: number): string {
  if (text.length < 1 || text.length > most || !isStorable(text))
    throw new InvalidValueError(field, `1 to ${most} characters without NUL`);
  return text;
}

/**
 * The JSON text of a value.
 *
 * @throws InvalidValueError for more than `most` UTF-8 bytes, and for what is no JSON
 */
export function jsonText(field: string, value: unknown, most: number): string {
  return boundedText(field, () => JSON.stringify(value), most);
}

/** {@link jsonText} for columns of `jsonb`, which refuse some texts. */
export function jsonbText(field: string, value: unknown, most: number): string {
  const text = jsonText(field, value, most);
  // Escapes that begin with an odd backslash: of NUL, and of half a surrogate pair.
  if (/(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/.test(text))
    throw new InvalidValueError(field, "texts without NUL and without halves of surrogate pairs");
  return text;
}

/** The JSON text of a column that is sealed where a cipher is configured; null for null. */
export function sealedText(
  values: ValueCipher,
  field: string,
  value: unknown,
  most: number,
): string | null {
  if (value === null || value === undefined) return null;
  return values.sealJsonText(jsonText(field, value, most));
}

function boundedText(field: string, stringify: () => string | undefined, most: number): string {
  let text: string | undefined;
  try {
    text = stringify();
  } catch {
    // Cycles, big integers, and what is nested too deeply.
  }
  if (text === undefined) throw new InvalidValueError(field, "a value of JSON");
  if (Buffer.byteLength(text) > most)
    throw new InvalidValueError(field, `at most ${most.toLocaleString("en")} bytes of JSON`);
  return text;
}

/** A part of a list. */
export interface PageRequest {
  /** Rows at most, 1 to 200. Default 50. */
  readonly limit?: number;
  /** `next` of the page before. */
  readonly cursor?: string;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Cursor of the next page; null at the end. */
  readonly next: string | null;
}

/**
 * The limit and the id after which a page begins.
 *
 * @throws InvalidValueError, InvalidCursorError
 */
export function checkPage({ limit = 50, cursor }: PageRequest): {
  readonly limit: number;
  readonly after: string | null;
} {
  checkCount("limit", limit, { from: 1, to: 200 });
  return { limit, after: cursor === undefined ? null : idOfCursor(cursor) };
}

/** @throws InvalidValueError unless it is a whole number within the bounds */
export function checkCount(
  field: string,
  count: number,
  { from, to }: { readonly from: number; readonly to: number },
): number {
  if (!Number.isSafeInteger(count) || count < from || count > to)
    throw new InvalidValueError(field, `a whole number from ${from} to ${to.toLocaleString("en")}`);
  return count;
}

/** The page that rows make, of which one more than the limit was read. */
export function toPage<Row, Item>(
  rows: readonly Row[],
  limit: number,
  of: { readonly id: (row: Row) => string; readonly item: (row: Row) => Item },
): Page<Item> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const next = rows.length > limit && last !== undefined ? cursorOfId(of.id(last)) : null;
  return { items: shown.map((row) => of.item(row)), next };
}

function cursorOfId(id: string): string {
  return Buffer.from(id.replaceAll("-", ""), "hex").toString("base64url");
}

function idOfCursor(cursor: string): string {
  const hex = Buffer.from(cursor.slice(0, 22), "base64url").toString("hex");
  const id = hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  if (!uuid.test(id) || cursorOfId(id) !== cursor) throw new InvalidCursorError();
  return id;
}

/** A column of a time, as ISO 8601. */
export function isoTime(time: Date): string {
  return time.toISOString();
}

export function isoTimeOrNull(time: Date | null): string | null {
  return time === null ? null : time.toISOString();
}

/** A time as ISO 8601. @throws InvalidValueError */
export function checkTime(field: string, text: string): Date {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw new InvalidValueError(field, "a time as ISO 8601");
  return time;
}
