import { wordsOf } from "./words.ts";

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
