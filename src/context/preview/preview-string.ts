import { headOf } from "../../values/text.ts";
import { type HtmlText, looksLikeHtml, readHtml } from "./html-text.ts";

interface TextLimits {
  readonly maxChars: number;
  readonly maxItems: number;
}

/** Texts up to this length that were read are remembered. */
const rememberedCharacters = 1_000_000;

/** Reads each text once, though it may be shown several times at different lengths. */
export class StringPreviews {
  readonly #read = new Map<string, TextRead>();

  /** A text that fits is returned as it is; JSON as its value, of which nothing is left out yet. */
  show(text: string, limits: TextLimits): string | object {
    if (text.length <= limits.maxChars) return text;
    const read = this.#readOnce(text);
    if (read.kind === "json") return read.value;
    const shown = shownText(text, read, limits);
    return shown.length < text.length
      ? shown
      : text.length <= limits.maxChars + longestMark
        ? text
        : cutMiddle(text, limits.maxChars);
  }

  #readOnce(text: string): TextRead {
    const known = text.length > rememberedCharacters ? undefined : this.#read.get(text);
    if (known !== undefined) return known;
    const read = readText(text);
    if (text.length <= rememberedCharacters) this.#read.set(text, read);
    return read;
  }
}

function shownText(
  text: string,
  read: Exclude<TextRead, { kind: "json" }>,
  limits: TextLimits,
): string {
  switch (read.kind) {
    case "encoded":
      return read.name;
    case "html":
      return pageText(read.html, limits);
    case "table":
      return tableText(read.table, limits);
    case "plain":
      return cutMiddle(text, limits.maxChars);
  }
}

function pageText(
  { title, text, links, unread }: HtmlText,
  { maxChars, maxItems }: TextLimits,
): string {
  const lines = title === "" ? [] : [`title: ${cutMiddle(title, Math.ceil(maxChars / 3))}`];
  lines.push(cutMiddle(text, maxChars, unread));
  const shown = links.slice(0, maxItems).map((link) => cutMiddle(link, Math.ceil(maxChars / 2)));
  const rest = links.length - shown.length;
  if (rest > 0) shown.push(`… ${more(rest, "link")}`);
  if (shown.length > 0) lines.push(`links: ${shown.join(", ")}`);
  return lines.join("\n");
}

function tableText(table: TableText, { maxChars, maxItems }: TextLimits): string {
  const rows = table.rows.slice(0, maxItems);
  // As many characters as the lines of another text would have, but no row without its first cells.
  const room = Math.max(40, Math.ceil((2 * maxChars) / (table.header.length + rows.length)));
  const lines = [...table.header, ...rows].map((line) => cutMiddle(line, room));
  const rest = table.rowCount - rows.length;
  if (rest > 0) lines.push(`… ${table.isMore ? "more than " : ""}${more(rest, "row")}`);
  return lines.join("\n");
}

/** The longest that the mark of what is left out can be. */
const longestMark = 60;

/**
 * The head and the tail of a text with `maxChars` characters in all, and between them how many are left out. A text that
 * would hardly become shorter is returned as it is. No surrogate pair is parted.
 * @param unread characters that the text had after this, or more: it was not read whole
 */
export function cutMiddle(text: string, maxChars: number, unread = 0): string {
  if (unread === 0 && text.length <= maxChars + longestMark) return text;
  // The tail of what was read is then not the tail of the text.
  const head = headOf(text, unread > 0 ? maxChars : Math.ceil(maxChars * 0.6));
  const tail = tailOf(text, Math.min(text.length - head.length, maxChars - head.length));
  const missing = text.length - head.length - tail.length + unread;
  const mark = `… [truncated, ${unread > 0 ? "more than " : ""}${figure(missing)} chars]`;
  return tail === "" ? head + mark : `${head}${mark} …${tail}`;
}

/** The last `length` UTF-16 units, or one less where that would split a surrogate pair. */
function tailOf(text: string, length: number): string {
  if (text.length <= length) return text;
  const first = text.charCodeAt(text.length - length);
  const splits = first >= 0xdc00 && first <= 0xdfff;
  return text.slice(text.length - (splits ? length - 1 : length));
}

/** `12,410` */
export function figure(count: number): string {
  return count.toLocaleString("en");
}

/** `1 more item`, `47 more items` */
export function more(count: number, thing: string): string {
  return `${figure(count)} more ${thing}${count === 1 ? "" : "s"}`;
}

/** What a long text is, as far as its shape goes. */
type TextRead =
  | { readonly kind: "encoded"; readonly name: string }
  | { readonly kind: "json"; readonly value: object }
  | { readonly kind: "html"; readonly html: HtmlText }
  | { readonly kind: "table"; readonly table: TableText }
  | { readonly kind: "plain" };

/** Longer texts are not parsed as JSON. */
const parsedCharacters = 1_000_000;

/** Characters that are looked at in three places to tell encoded bytes from text. */
const sampleLength = 500;

/** Looks at a bounded part of the text, but for JSON of up to a million characters. Never throws. */
export function readText(text: string): TextRead {
  const name = encodedName(text);
  if (name !== null) return { kind: "encoded", name };
  const value = jsonIn(text);
  if (value !== null) return { kind: "json", value };
  if (looksLikeHtml(text)) return { kind: "html", html: readHtml(text) };
  const table = readTable(text);
  return table === null ? { kind: "plain" } : { kind: "table", table };
}

function encodedName(text: string): string | null {
  const size = `${figure(text.length)} chars`;
  const uri = /^\s{0,9}data:([\w.+-]{1,60}\/[\w.+-]{1,60})?[^,]{0,100};base64,/i.exec(text);
  if (uri !== null) return `[${uri[1] ?? "data"} as base64, ${size}]`;
  const middle = Math.floor(text.length / 2);
  const samples = [
    text.slice(0, sampleLength),
    text.slice(middle, middle + sampleLength),
    text.slice(-sampleLength),
  ];
  return samples.every(isBase64) ? `[base64, ${size}]` : null;
}

/** Words, paths and lists of numbers are written with these letters too, but not with all kinds of them mixed. */
function isBase64(part: string): boolean {
  if (!/^[\w+/\r\n-]+={0,2}\s*$/.test(part)) return false;
  const kinds = [/[a-z]/g, /[A-Z]/g, /\d/g].map((kind) => part.match(kind)?.length ?? 0);
  return kinds.every((count) => count > part.length / 50);
}

function jsonIn(text: string): object | null {
  if (text.length > parsedCharacters || !/^\s*[[{]/.test(text)) return null;
  try {
    return JSON.parse(text) as object;
  } catch {
    return null;
  }
}

/** The beginning of a text of rows and cells (CSV, TSV, pipes). */
interface TableText {
  /** The first line, and the rule under it where there is one. */
  readonly header: readonly string[];
  /** The rows that were looked at. */
  readonly rows: readonly string[];
  readonly rowCount: number;
  /** Whether there are more rows than were counted. */
  readonly isMore: boolean;
}

/** Characters in which rows are looked at, and characters in which they are counted. */
const sampleCharacters = 20_000;
const countedCharacters = 1_000_000;

/** Minimum number of alike lines of a table: prose rarely has that many lines with equally many commas. */
const fewestLines = 4;

/** Null for a text whose first lines do not all have as many cells. */
export function readTable(text: string): TableText | null {
  const sample = text.slice(0, sampleCharacters).trimStart();
  const lines = sample.split(/\r?\n/);
  // The last one is cut off.
  if (sample.length < text.trimEnd().length) lines.pop();
  const whole = lines.filter((line) => line.trim() !== "");
  if (whole.length < fewestLines || !["\t", "|", ",", ";"].some((sign) => isTable(whole, sign))) {
    return null;
  }
  const isRuled = /^[\s|:+=-]+$/.test(whole[1] ?? "");
  const header = whole.slice(0, isRuled ? 2 : 1);
  const { count, isMore } = lineCount(text);
  return { header, rows: whole.slice(header.length), rowCount: count - header.length, isMore };
}

function isTable(lines: readonly string[], sign: string): boolean {
  const first = cellCount(lines[0] ?? "", sign);
  return first > 1 && lines.slice(0, 50).every((line) => cellCount(line, sign) === first);
}

/** Cells in quotes may hold the sign. */
function cellCount(line: string, sign: string): number {
  const outside = line.includes('"') ? line.replace(/"[^"]*"/g, "") : line;
  return outside.split(sign).length;
}

/** Lines that are not empty. */
function lineCount(text: string): { count: number; isMore: boolean } {
  const counted = text.slice(0, countedCharacters);
  const count = counted.match(/\S[^\n]*/g)?.length ?? 0;
  return { count, isMore: counted.length < text.length };
}

/**
 * A value of JavaScript as one of JSON, one level deep: the same for what is JSON already. What JSON has no word for is
 * named in brackets. Never throws.
 */
export function plainValue(value: unknown): unknown {
  switch (typeof value) {
    case "undefined":
      return null;
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "bigint":
      return bigintText(value);
    case "function":
      return "[function]";
    case "symbol":
      return "[symbol]";
    case "object":
      return value === null ? null : attempt(() => plainObject(value));
    default:
      return value;
  }
}

/** Reads of objects may run foreign code: getters, proxies, `toJSON`. */
export function attempt<T>(read: () => T): T | string {
  try {
    return read();
  } catch {
    return "[unreadable]";
  }
}

/** Longer ones take quadratic time to write. */
function bigintText(value: bigint): string {
  const limit = 10n ** 300n;
  return value < limit && value > -limit ? String(value) : "[big integer]";
}

function plainObject(value: object): unknown {
  if (Array.isArray(value)) return value;
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
    return `[${value.constructor.name} of ${figure(value.byteLength)} bytes]`;
  }
  if (value instanceof Date) {
    return Number.isNaN(value.getTime()) ? "[invalid date]" : value.toISOString();
  }
  if (value instanceof Error) return { name: value.name, message: value.message };
  if (value instanceof RegExp || value instanceof URL) return String(value);
  if (value instanceof Number || value instanceof String || value instanceof Boolean) {
    return value.valueOf();
  }
  if (isMessage(value)) return messageFields(value);
  const { toJSON } = value as { toJSON?: unknown };
  if (typeof toJSON !== "function") return value;
  let given: unknown;
  try {
    given = toJSON.call(value, "");
  } catch {
    return { ...value };
  }
  return typeof given === "object" ? given : plainValue(given);
}

/** LangChain's messages, whose own JSON is that of their constructor. */
function isMessage(value: object): value is Record<string, unknown> & { getType: () => unknown } {
  return "content" in value && "getType" in value && typeof value.getType === "function";
}

function messageFields(message: Record<string, unknown> & { getType: () => unknown }): object {
  const { content, name, tool_calls: calls, tool_call_id: id } = message;
  return {
    type: message.getType(),
    content,
    ...(name === undefined ? {} : { name }),
    ...(Array.isArray(calls) && calls.length > 0 ? { tool_calls: calls } : {}),
    ...(id === undefined ? {} : { tool_call_id: id }),
  };
}
