import { joinPath } from "./json-path.ts";

/** A key or a scalar value that has the text that was looked for. */
export interface JsonMatch {
  readonly path: string;
  readonly part: "key" | "value";
  /** What is around the text: what comes before it, the text as it stands, what comes after. */
  readonly snippet: readonly [before: string, found: string, after: string];
}

/** Characters on each side of what was found. */
const around = 40;

/**
 * Returns where a text stands in keys and values, without regard to case, in the order of the value.
 *
 * @param limit matches after which it stops
 */
export function searchJson(
  value: unknown,
  text: string,
  { limit = 200 }: { readonly limit?: number } = {},
): readonly JsonMatch[] {
  const wanted = text.toLowerCase();
  if (wanted === "") return [];
  const found: JsonMatch[] = [];
  /** Members that are still to be looked at, the next one last. */
  const open: { readonly path: string; readonly value: unknown }[] = [{ path: "", value }];
  const match = (path: string, part: JsonMatch["part"], whole: string) => {
    const at = whole.toLowerCase().indexOf(wanted);
    if (at !== -1) found.push({ path, part, snippet: snippetOf(whole, at, wanted.length) });
  };
  for (let next = open.pop(); next !== undefined && found.length < limit; next = open.pop()) {
    const { path, value: one } = next;
    if (typeof one !== "object" || one === null) {
      match(path, "value", String(one));
      continue;
    }
    const isList = Array.isArray(one);
    const members = Object.entries(one).map(([key, inner]) => ({
      key,
      path: joinPath(path, isList ? Number(key) : key),
      value: inner as unknown,
    }));
    if (!isList) for (const { key, path: own } of members) match(own, "key", key);
    open.push(...members.toReversed());
  }
  return found.slice(0, limit);
}

function snippetOf(text: string, at: number, length: number): JsonMatch["snippet"] {
  const from = Math.max(0, at - around);
  const to = Math.min(text.length, at + length + around);
  return [
    (from === 0 ? "" : "…") + text.slice(from, at),
    text.slice(at, at + length),
    text.slice(at + length, to) + (to === text.length ? "" : "…"),
  ];
}
