import { isRecord } from "../values/json.ts";
import { headOf } from "../values/text.ts";
import { memoryLimits } from "./entry.ts";

/** The text of an item that has none, or that is not to be found: without a word, so that no search finds it. */
const noText = "…";

/** Levels of lists and objects that are read. */
const maxDepth = 100;

/**
 * The text by which an item of a store is found. Texts of several paths are lines of it. An item without one has "…".
 *
 * @param index paths as LangGraph writes them (`a.b`, `a[*].b`, `a[-1]`, `*`, `{a,b.c}`, `$`); false for none. Default `$`
 */
export function itemText(
  value: Readonly<Record<string, unknown>>,
  index: false | readonly string[] | null | undefined,
): string {
  if (index === false) return noText;
  const found = (index ?? ["$"]).flatMap((path) => valuesAt(value, tokensOf(path), 0));
  const lines: string[] = [];
  let length = 0;
  for (const one of found) {
    if (length > memoryLimits.content) break;
    const text = textOf(one);
    length += text.length;
    if (text !== "") lines.push(text);
  }
  const text = lines.join("\n").replaceAll(/\0|\p{Surrogate}/gu, "\uFFFD");
  return headOf(text, memoryLimits.content).trim() || noText;
}

/** `a.b[*].{c,d}` is `a`, `b`, `[*]` and `{c,d}`. */
function tokensOf(path: string): readonly string[] {
  return path === "" ? [] : (path.match(/\[[^\]]*\]?|\{[^}]*\}?|[^.[{]+/g) ?? ["."]);
}

/** The values at a path. Only own properties are read. */
function valuesAt(value: unknown, tokens: readonly string[], at: number): readonly unknown[] {
  const token = tokens[at];
  if (token === undefined) return [value];
  const rest = (inner: unknown) => valuesAt(inner, tokens, at + 1);
  if (token === "$" && at === 0) return rest(value);
  if (token === "*" || token === "[*]") {
    if (Array.isArray(value)) return value.flatMap(rest);
    return token === "*" && isRecord(value) ? Object.values(value).flatMap(rest) : [];
  }
  if (token.startsWith("[")) {
    const number = Number.parseInt(token.slice(1, -1), 10);
    const inner: unknown = Array.isArray(value) ? value.at(number) : undefined;
    return Number.isNaN(number) || inner === undefined ? [] : rest(inner);
  }
  if (token.startsWith("{")) {
    const fields = token
      .slice(1, -1)
      .split(",")
      .map((field) => field.trim());
    const named = fields.filter((field) => field !== "");
    return named.flatMap((field) => valuesAt(value, tokensOf(field), 0));
  }
  return isRecord(value) && Object.hasOwn(value, token) ? rest(value[token]) : [];
}

/** The leaves of a value, each with its key on a line; a single one without its key. */
function textOf(value: unknown): string {
  const lines: { readonly key: string | null; readonly text: string }[] = [];
  let length = 0;
  const collect = (one: unknown, key: string | null, depth: number): void => {
    if (depth > maxDepth || length > memoryLimits.content) return;
    if (Array.isArray(one)) {
      for (const inner of one) collect(inner, key, depth + 1);
    } else if (isRecord(one)) {
      for (const [name, inner] of Object.entries(one)) collect(inner, name, depth + 1);
    } else if (typeof one === "string" || typeof one === "number" || typeof one === "boolean") {
      const text = String(one);
      length += text.length;
      lines.push({ key, text });
    }
  };
  collect(value, null, 0);
  const [first] = lines;
  if (lines.length === 1 && first) return first.text;
  return lines.map(({ key, text }) => (key === null ? text : `${key}: ${text}`)).join("\n");
}
