import { isStopWord, wordsOf } from "../words.ts";

/** Text in double, single, back or typographic quotes, in order; apostrophes inside words are none. */
export function quotedIn(text: string): string[] {
  const pattern = /"([^"]+)"|“([^”]+)”|`([^`]+)`|(?<![\p{L}\p{N}])'([^']+)'(?![\p{L}\p{N}])/gu;
  return [...text.matchAll(pattern)].map((m) => m[1] ?? m[2] ?? m[3] ?? m[4] ?? "");
}

const webEndings = /\.(com|org|net|edu|gov|io)$/i;

/** File and folder paths: anything with a slash or a file ending. */
export function pathsIn(text: string): string[] {
  const words = text.replace(/https?:\/\/\S+/g, " ").match(/[^\s"'`“”,;()]+/g) ?? [];
  return words
    .map((word) => word.replace(/(:\d+){0,2}[.?!:]*$/, ""))
    .filter((word) => word.length > 1 && !word.includes("@") && isPath(word));
}

function isPath(word: string): boolean {
  if (/^[\d./%+*-]+$/.test(word)) return false;
  if (word.includes("/")) return /^[\w.~-]*(\/[\w.@*-]+)+\/?$|^[\w.~-]+\/$/.test(word);
  return /^[\w.-]*\w\.[a-z][a-z0-9]{0,5}$/i.test(word) && !webEndings.test(word);
}

/** A folder that is only named as such: "in docs", "the docs folder", "the current directory". */
export function folderIn(text: string): string | null {
  if (/\b(?:current|this|working) (?:folder|directory)\b|\bhere\b/i.test(text)) return ".";
  const named =
    /([\w./-]+) (?:folder|directory|dir)\b|(?:folder|directory|dir) (?:named |called )?([\w./-]+)/i;
  const found = named.exec(text);
  const direct = found?.[1] ?? found?.[2];
  if (direct !== undefined && !isStopWord(direct)) return direct.replace(/[.]$/, "");
  for (const [, word = ""] of text.matchAll(
    /\b(?:in|inside|under|within|of|from|at) (?:the )?([\w./-]+)/gi,
  )) {
    const folder = word.replace(/[.?!]+$/, "");
    if (folder !== "" && !isStopWord(folder) && !/^\d+$/.test(folder)) return folder;
  }
  return null;
}

export function urlsIn(text: string): string[] {
  return (text.match(/https?:\/\/[^\s"'<>)]+/g) ?? []).map((url) => url.replace(/[.,;!?]+$/, ""));
}

export function emailsIn(text: string): string[] {
  return text.match(/[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g) ?? [];
}

/** ISO dates, with a time where one is written. */
export function datesIn(text: string): string[] {
  return (
    text.match(
      /\b\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?)?/g,
    ) ?? []
  );
}

/** Numbers that stand alone: no part of a path, a date, a time or a code. */
export function numbersIn(text: string): number[] {
  const found = text
    .replace(/(\d),(?=\d{3}\b)/g, "$1")
    .matchAll(/(?<![\w./:#-])-?\d+(?:\.\d+)?(?![\w/:]|[-.]\w)/g);
  return [...found].map(([one]) => Number(one));
}

/** Codes such as `ORD-123`, `A17`, `#42`. */
export function codesIn(text: string): string[] {
  const words = text.match(/#\d+|\b[A-Za-z]+[-_]?\d[\w-]*|\b\d{4,}\b/g) ?? [];
  return words.map((word) => word.replace(/^#/, ""));
}

/** Words written in capitals, as log levels and markers are; not those of a file's name. */
export function capitalsIn(text: string): string[] {
  const words = text.match(/(?<![\w./-])[A-Z][A-Z_]{2,}(?![\w/-]|\.\w)/g) ?? [];
  return words.filter((word) => !/^(JSON|HTTP|URL|UTC|GMT|AND|THE)$/.test(word));
}

const marker = /^(ERROR|WARN|WARNING|INFO|DEBUG|FATAL|TRACE|TODO|FIXME)$/;

/** Proper nouns: runs of capitalised words that do not begin a sentence. */
export function namesIn(text: string): string[] {
  const runs = text.matchAll(/(?<=[\p{L}\p{N},'")] )\p{Lu}[\p{L}'-]+(?: \p{Lu}[\p{L}'-]+)*/gu);
  return [...runs].map(([name]) => name).filter((name) => !marker.test(name));
}

const word = String.raw`(#?[\p{L}\p{N}_@.-]*[\p{L}\p{N}_@])`;
const quoted = '(?:"([^"]+)"|“([^”]+)”|`([^`]+)`)';

/** How a text speaks of an argument: `customer` of `customer_id`, as a regular expression. */
export function labelOf(name: string): string {
  const words = wordsOf(name);
  const core = words.filter((one) => !/^(id|name|number|code|key)$/.test(one));
  return (core.length > 0 ? core : words).join("[ _-]?");
}

/**
 * An argument that a text names explicitly: `key "big shop"`, `under the key shop`, `key shop to "milk"`,
 * and at its end `as shop` for arguments that are called name or key. Null where it is said in passing or not at all.
 */
export function givenName(name: string, text: string): string | null {
  const label = labelOf(name);
  const marked = new RegExp(`\\b${label}\\s+(?:(?:named|called)\\s+)?${quoted}`, "iu").exec(text);
  if (marked !== null) return marked[1] ?? marked[2] ?? marked[3] ?? null;
  // "with the ticket titled "Lost key"": a word before a quote tells what the quote is.
  const said = new RegExp(
    `\\b(?:under|with|for|as|from|of|in|at)\\s+(?:the\\s+|a\\s+)?${label}\\s+${word}(?!\\S*\\s+["“\`])`,
    "iu",
  );
  const assigned = new RegExp(`\\b${label}\\s+${word}\\s+(?:to|=)\\s+${quoted}`, "iu");
  const last = /key|name|label/i.test(name)
    ? new RegExp(`\\b(?:as|under)\\s+${word}[.!?]*\\s*$`, "iu")
    : null;
  const found = said.exec(text)?.[1] ?? assigned.exec(text)?.[1] ?? last?.exec(text)?.[1];
  return found === undefined || isStopWord(found) ? null : found.replace(/^#/, "");
}

/** A JSON Schema, or the part for one property. */
export type Schema = Readonly<Record<string, unknown>>;

/** What a string argument is about, as far as its name, format and description tell. */
export type StringKind =
  | "expression"
  | "folder"
  | "path"
  | "url"
  | "email"
  | "timezone"
  | "date"
  | "query"
  | "glob"
  | "message"
  | "name";

const byName: readonly (readonly [RegExp, StringKind])[] = [
  [/\b(expression|formula|equation|calculation|arithmetic|math)\b/, "expression"],
  [/\b(timezone|tz|time zone|zone)\b/, "timezone"],
  [/\b(folder|directory|dir|root)\b/, "folder"],
  [/\b(path|file|filename|filepath|document|source|destination)\b/, "path"],
  [/\b(url|uri|link|href|endpoint)\b/, "url"],
  [/\b(email|recipient|mailto)\b/, "email"],
  [/\b(date|day|since|until|deadline|start|end)\b/, "date"],
  [
    /\b(query|search|pattern|keyword|keywords|term|terms|regex|needle|phrase|q|question|topic)\b/,
    "query",
  ],
  [
    /\b(message|content|body|text|note|comment|prompt|input|subject|title|task|description)\b/,
    "message",
  ],
];

const byDescription: readonly (readonly [RegExp, StringKind])[] = [
  [
    /\b(arithmetic|math\w*) expression\b|\bexpression to (evaluate|calculate|compute)/i,
    "expression",
  ],
  [/\bIANA\b|\btime ?zone\b/i, "timezone"],
  [/\b(e-?mail address)\b/i, "email"],
  [/\b(folder|directory)\b/i, "folder"],
  [/\b(file ?path|path (of|to)|file to)\b/i, "path"],
  [/\bURL\b/, "url"],
  [/\b(search for|search query|to look for|to find)\b/i, "query"],
  [/\b(text|value|content) to (write|save|store|keep|send|post|append)\b/i, "message"],
];

export function stringKind(name: string, schema: Schema): StringKind {
  const format = schema["format"];
  if (format === "uri" || format === "url") return "url";
  if (format === "email") return "email";
  if (format === "date" || format === "date-time") return "date";
  const words = wordsOf(name).join(" ");
  const description = descriptionOf(schema);
  const named = byName.find(([pattern]) => pattern.test(words))?.[1];
  // A general name like `input` says less than its description.
  const told = byDescription.find(([pattern]) => pattern.test(description))?.[1];
  // Names such as *.md in the description tell a file pattern from a text pattern.
  if (/pattern|glob|include|exclude/.test(words) && /\*\.?\w|\bglob\b/i.test(description)) {
    return "glob";
  }
  if (named === undefined || named === "message") return told ?? named ?? "name";
  if (named === "path" && /^(the |a )?(folder|directory)\b(?! or\b)/i.test(description))
    return "folder";
  return named;
}

export function descriptionOf(schema: Schema): string {
  return typeof schema["description"] === "string" ? schema["description"] : "";
}

/** The type a schema asks for; of several the first that is not null. */
export function typeOf(schema: Schema): string {
  const type = schema["type"];
  if (typeof type === "string") return type;
  if (Array.isArray(type)) return String(type.find((one) => one !== "null") ?? "null");
  for (const key of ["anyOf", "oneOf"]) {
    const options = schema[key];
    if (!Array.isArray(options)) continue;
    const first = (options as Schema[]).find((one) => one["type"] !== "null");
    if (first !== undefined) return typeOf(first);
  }
  if (schema["properties"] !== undefined) return "object";
  return "string";
}

export function propertiesOf(schema: Schema): Readonly<Record<string, Schema>> {
  const properties = schema["properties"];
  return typeof properties === "object" && properties !== null
    ? (properties as Record<string, Schema>)
    : {};
}

export function requiredOf(schema: Schema): ReadonlySet<string> {
  const required = schema["required"];
  return new Set(Array.isArray(required) ? (required as string[]) : []);
}

export function enumOf(schema: Schema): readonly unknown[] | null {
  if (schema["const"] !== undefined) return [schema["const"]];
  return Array.isArray(schema["enum"]) ? (schema["enum"] as unknown[]) : null;
}
