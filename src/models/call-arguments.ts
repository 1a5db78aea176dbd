import { scanJson } from "./loose-json.ts";

/** Longer texts are not taken for arguments. */
const longest = 20_000;

const argumentName = /\s*([A-Za-z_][\w-]{0,127})\s{0,8}([=:])\s{0,8}/y;
const doubleQuoted = /"(?:[^"\\]|\\[^])*"/y;
const singleQuoted = /'(?:[^'\\]|\\[^])*'/y;
const bare = /[^,\n]+/y;
const separator = /\s*(?:[,\n]|$)\s*/y;

const constants = new Map<string, unknown>([
  ["True", true],
  ["False", false],
  ["None", null],
]);

/**
 * Reads arguments as code writes them, `query="python", limit=5`, or `name: value` one a line. Bare values are JSON
 * where they are (`5`, `true`), else text. Null for anything else, and where a name was not in `names`.
 */
export function readNamedArguments(
  text: string,
  names?: ReadonlySet<string>,
): Record<string, unknown> | null {
  if (text.length > longest) return null;
  const named: [string, unknown][] = [];
  let at = 0;
  while (at < text.length) {
    const key = match(argumentName, text, at);
    const name = key?.[1] ?? "";
    if (key === null || (names ? !names.has(name) : key[2] === ":")) return null;
    at += key[0].length;
    const value = valueAt(text, at);
    const end = match(separator, text, at + value.length);
    if (value === "" || end === null) return null;
    at += value.length + end[0].length;
    named.push([name, readValue(value.trim())]);
  }
  return named.length === 0 ? null : Object.fromEntries(named);
}

/** The text within a quoted literal, `"a"` or `'a'`; null for anything else. */
export function readQuoted(text: string): string | null {
  const quote = text[0];
  if ((quote !== '"' && quote !== "'") || text.length < 2 || text.length > longest) return null;
  const literal = match(quote === '"' ? doubleQuoted : singleQuoted, text, 0);
  if (literal?.[0].length !== text.length) return null;
  const inner = text.slice(1, -1);
  const json = quote === '"' ? inner : inner.replaceAll("\\'", "'").replaceAll('"', '\\"');
  try {
    return JSON.parse(`"${json}"`) as string;
  } catch {
    return inner;
  }
}

function valueAt(text: string, at: number): string {
  const quoted = match(doubleQuoted, text, at) ?? match(singleQuoted, text, at);
  if (quoted !== null) return quoted[0];
  if (text[at] === "{" || text[at] === "[") {
    const { end, closed } = scanJson(text, at);
    if (closed) return text.slice(at, end);
  }
  return match(bare, text, at)?.[0] ?? "";
}

function readValue(text: string): unknown {
  const quoted = readQuoted(text);
  if (quoted !== null) return quoted;
  if (constants.has(text)) return constants.get(text);
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
