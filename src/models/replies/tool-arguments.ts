import { isDeepStrictEqual } from "node:util";
import { isRecord } from "../../values/json.ts";
import { scanJson } from "./json-answer.ts";
import { readRelaxedJson } from "./relaxed-json.ts";
import { toToolInput } from "../text-form/text-form.ts";

type Schema = Readonly<Record<string, unknown>>;
type Arguments = Record<string, unknown>;

export type ToolArguments =
  | {
      readonly ok: true;
      readonly value: Arguments;
      /** Whether they were written in another way than the arguments' JSON object. Not for an empty text. */
      readonly isMended: boolean;
    }
  /** `empty`: nothing was written, and the schema requires properties. */
  | { readonly ok: false; readonly reason: "empty" | "unreadable" };

const unreadable: ToolArguments = { ok: false, reason: "unreadable" };

/** JSON texts within JSON texts that are read. */
const maxLevels = 3;

/**
 * Reads the arguments of a call: the object itself, its JSON, or a text or value that can mean only one object. That
 * is JSON as `readRelaxedJson` takes it; in quotes (encoded twice); in a code block; with prose around it; repeated
 * unchanged; or a value for the only property of the schema. An empty text is `{}` if nothing is required. Text that
 * is cut off is never completed. Never throws, and takes linear time.
 */
export function readToolArguments(written: unknown, inputSchema: Schema): ToolArguments {
  return readValue(written, inputSchema, 0);
}

function readValue(value: unknown, schema: Schema, level: number): ToolArguments {
  if (isRecord(value)) return withinObject(value, schema, level);
  if (value === null || value === undefined) return mended(readBlank(schema));
  if (typeof value !== "string") return toOnlyProperty(value, schema);
  const text = value.replace(/^\uFEFF/, "").trim();
  if (text === "") return readBlank(schema);
  if (level > maxLevels) return unreadable;
  const parsed = level === 0 || !/^[[{]/.test(text) ? parseJson(text) : parseExact(text);
  if (parsed === undefined) return readRelaxed(text, schema, level);
  if (typeof parsed.value === "string") return mended(readString(parsed.value, schema, level));
  return readValue(parsed.value, schema, level);
}

function parseJson(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

/** Of text that stands within another, an object or array with one meaning only: no key is repeated, no digit lost. */
function parseExact(text: string): { readonly value: unknown } | undefined {
  const read = readRelaxedJson(text);
  return read.ok && read.end === text.length ? { value: read.value } : undefined;
}

function mended(read: ToolArguments): ToolArguments {
  return read.ok ? { ...read, isMended: true } : read;
}

function readBlank({ required }: Schema): ToolArguments {
  const isRequired = Array.isArray(required) && required.length > 0;
  return isRequired ? { ok: false, reason: "empty" } : { ok: true, value: {}, isMended: false };
}

/** A JSON string: an object in it is the arguments; another text is the value of the only property. */
function readString(text: string, schema: Schema, level: number): ToolArguments {
  if (text.trim() === "") return readBlank(schema);
  const inner = readValue(text, schema, level + 1);
  const isText = toOnlyProperty(text, schema).ok;
  const isObject = /^\s*["{`]/.test(text) && inner.ok && fits(inner.value, schema);
  if (inner.ok && (isObject || !isText)) return inner;
  return looksLikeArguments(text, schema) ? unreadable : toOnlyProperty(text, schema);
}

/** Numbers are refused: they may have lost their last digits. Other values need a property of their type. */
function toOnlyProperty(value: unknown, schema: Schema): ToolArguments {
  if (typeof value === "number") return unreadable;
  const made = toToolInput(value, schema);
  if (!isRecord(made)) return unreadable;
  const isFit = Object.entries(made).every(([name, one]) => {
    if (typeof one === "number" && Number.isInteger(one) && !Number.isSafeInteger(one))
      return false;
    return typeof one === "string" || typeOf(schema, name) === jsonType(one);
  });
  return isFit ? { ok: true, value: made, isMended: true } : unreadable;
}

function jsonType(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return typeof value === "number" && Number.isInteger(value) ? "integer" : typeof value;
}

function typeOf(schema: Schema, name: string): unknown {
  const { properties } = schema;
  const property = isRecord(properties) ? properties[name] : undefined;
  return isRecord(property) ? property["type"] : undefined;
}

/** An object whose only key holds JSON as a text: the arguments, or the object or list that the property takes. */
function withinObject(value: Arguments, schema: Schema, level: number): ToolArguments {
  const asWritten: ToolArguments = { ok: true, value, isMended: false };
  const [[key, only] = [], ...others] = Object.entries(value);
  if (key === undefined || others.length > 0 || typeof only !== "string") return asWritten;
  if (level > maxLevels || !/^\s*[[{]/.test(only)) return asWritten;
  const type = typeOf(schema, key);
  if (type === "object" || type === "array") {
    const inner = parseExact(only.trim())?.value;
    if (jsonType(inner) !== type || inner === null) return asWritten;
    return { ok: true, value: { [key]: inner }, isMended: true };
  }
  const { properties } = schema;
  if (!isRecord(properties) || Object.hasOwn(properties, key)) return asWritten;
  const inner = readValue(only, schema, level + 1);
  const isFit = inner.ok && Object.keys(inner.value).length > 0 && fits(inner.value, schema);
  return isFit ? mended(inner) : asWritten;
}

/** Returns whether a schema declares all keys of an object, and requires no others. */
function fits(value: Arguments, { properties, required }: Schema): boolean {
  if (!isRecord(properties)) return false;
  const keys = new Set(Object.keys(value));
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  return (
    [...keys].every((key) => Object.hasOwn(properties, key)) &&
    needed.every((name) => keys.has(String(name)))
  );
}

/** Words that may say that the object is not the one meant. */
const negation = /\b(?:not|never|cannot|instead|(?:do|does|can|ca|wo|is|should)n['’]?t)\b/i;

/** Prose, marks of a code block and tags: nothing that could be a part of the arguments. */
const prose = /^[\p{L}\p{N}\s.,:;!?'’`~<>|/_-]*$/u;
const quoted = /^(["'`])(?=\s*\{)([^\\]*)\1$/;

function readRelaxed(text: string, schema: Schema, level: number): ToolArguments {
  if (/^\{\s*\\"/.test(text)) {
    const whole = parseJson(`"${text}"`)?.value;
    return whole === undefined ? unreadable : mended(readValue(whole, schema, level + 1));
  }
  const start = text.indexOf("{");
  if (start < 0) return unreadable;
  const first = readRelaxedJson(text, start);
  if (!first.ok) return unreadable;
  const value = first.value as Arguments;
  const end = endOfRepeats(text, first.end, value);
  const before = text.slice(0, start).trim();
  const after = text.slice(end).trim();
  const inner = quoted.exec(text)?.[2];
  const isQuoted = inner !== undefined && inner.trim().length === end - start;
  const isClosedTwice = before === "" && /^\}+$/.test(after) && first.depth === 1;
  const isAlone = isQuoted || isClosedTwice || isFence(before, after);
  if (!isAlone && !isAmongProse(value, { before, after }, schema)) return unreadable;
  return mended(withinObject(value, schema, level));
}

/** Returns where the last repetition of a value ends; `from` if another value follows. */
function endOfRepeats(text: string, from: number, value: object): number {
  let end = from;
  for (;;) {
    const next = /[\s,;]*/y;
    next.lastIndex = end;
    const start = end + (next.exec(text)?.[0].length ?? 0);
    if (text[start] !== "{") return end;
    const again = readRelaxedJson(text, start);
    if (!again.ok || !isDeepStrictEqual(again.value, value)) return from;
    end = again.end;
  }
}

/** Returns whether nothing but a comment, a comma or the marks of a code block surround a value. */
function isFence(before: string, after: string): boolean {
  return (
    /^(?:(?:`{3,}|~{3,})[\w+-]{0,20}|\/\/[^\n]*|json)?$/.test(before) &&
    /^(?:[,;]|`{1,}|~{1,}|(?:\/\/|# )[^\n]*)?$/.test(after)
  );
}

function isAmongProse(
  value: Arguments,
  { before, after }: { readonly before: string; readonly after: string },
  schema: Schema,
): boolean {
  const quote = /["'`]$/.exec(before)?.[0];
  const isOtherLiteral = quote !== undefined && after.startsWith(quote) && !isFence(before, after);
  if (isOtherLiteral || !prose.test(before) || !prose.test(after)) return false;
  const around = `${before}\n${after}`;
  if (negation.test(around)) return false;
  const names = isRecord(schema["properties"]) ? Object.keys(schema["properties"]) : [];
  const isNamed = names.some((name) =>
    new RegExp(`${escapeForRegExp(name)}['\`]?\\s{0,40}:`, "i").test(around),
  );
  return !isNamed && /^(?![,;])/.test(after) && (names.length === 0 || fits(value, schema));
}

function escapeForRegExp(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|-]/g, String.raw`\$&`);
}

/** An object that has only begun: `{`, `{"`, `{"na`, `{"name"`. */
const begun = /\{\s{0,40}(?:\\{0,8}["'][^"'{}]{0,200}["']?\s{0,40})?$/;

/**
 * Returns whether a text that stands for a tool's input seems to be its arguments, broken: an object with quoted keys or
 * with names of the schema, an object or string that does not end, or brackets alone. Such a text is no value of a property.
 */
export function looksLikeArguments(text: string, { properties }: Schema): boolean {
  const given = text.trim();
  if (/^[\s{}[\]"'`\\]+$|^(?:`{3,}|~{3,})[\w+-]{0,20}$/.test(given)) return true;
  if (given.startsWith("{") && !scanJson(given, 0).closed) return true;
  if (
    /^(?:`{3}[\w+-]{0,20}\s{0,40}|\\?["'`])?\{\s{0,40}(?:[\\"'`:}]|[\w$-]{1,128}\s{0,40}:)/.test(
      given,
    )
  ) {
    return true;
  }
  if (begun.test(given)) return true;
  if (given.startsWith('"') && (given.match(/(?<!\\)"/g)?.length ?? 0) % 2 === 1) return true;
  const names = isRecord(properties) ? Object.keys(properties) : [];
  return names.some((name) => {
    const key = escapeForRegExp(name);
    return new RegExp(String.raw`["']${key}\\{0,8}["']\s{0,40}:|\{\s{0,40}${key}\s{0,40}:`).test(
      given,
    );
  });
}
