import { jsonrepair } from "jsonrepair";
import { errorMessage } from "../errors.ts";

export type LooseRead =
  | {
      readonly ok: true;
      readonly value: object;
      /** Whether it had to be mended to be JSON. */
      readonly isMended: boolean;
    }
  | { readonly ok: false; readonly problem: string };

/** Where a JSON object or array ends in a text that goes on. */
export interface JsonEnd {
  /** Index after the closing bracket; the text's length where it does not close. */
  readonly end: number;
  readonly closed: boolean;
  /** The text ends inside a string: it was cut off. */
  readonly inString: boolean;
  readonly depth: number;
}

/** Levels of nesting that are read: what a model writes has fewer, and what walks the value need not fear for its stack. */
const maxDepth = 200;

/** Characters that one reader repairs. Repairing can take quadratic time: 20,000 characters are at worst 0.3 seconds. */
const repairedCharacters = 20_000;

/**
 * Reads JSON objects and arrays as models write them: with comments and trailing commas at any length, and as far as
 * `jsonrepair` goes (single quotes, bare keys, missing brackets, Python's constants) up to 20,000 characters in all. A
 * text that ends inside a string is refused, since what is missing of it cannot be known. Never throws.
 */
export class LooseJson {
  #repairable = repairedCharacters;

  read(text: string): LooseRead {
    const json = text.trim();
    if (!json.startsWith("{") && !json.startsWith("[")) {
      return { ok: false, problem: "it is no JSON object or array" };
    }
    const scan = scanJson(json, 0);
    if (scan.depth > maxDepth) {
      return { ok: false, problem: `it is nested more than ${maxDepth} levels deep` };
    }
    const strict = parseContainer(json);
    if (strict.ok) return strict;
    if (scan.inString) return { ok: false, problem: "it ends inside a string" };
    const mended = parseContainer(withoutExtras(json));
    if (mended.ok) return { ...mended, isMended: true };
    return this.#repair(json) ?? strict;
  }

  #repair(json: string): LooseRead | null {
    if (json.length > this.#repairable) return null;
    this.#repairable -= json.length;
    try {
      const repaired = parseContainer(jsonrepair(json));
      return repaired.ok ? { ...repaired, isMended: true } : null;
    } catch {
      return null;
    }
  }
}

function parseContainer(json: string): LooseRead {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value === "object" && value !== null) return { ok: true, value, isMended: false };
    return { ok: false, problem: "it is no JSON object or array" };
  } catch (thrown) {
    return { ok: false, problem: errorMessage(thrown) };
  }
}

/**
 * Finds the end of the object or array that opens at `start`, heeding strings and comments but not whether brackets are
 * of one kind.
 */
export function scanJson(text: string, start: number): JsonEnd {
  let open = 0;
  let depth = 0;
  let index = start;
  while (index < text.length) {
    const char = text[index];
    if (char === '"') {
      const end = endOfString(text, index);
      if (end < 0) return { end: text.length, closed: false, inString: true, depth };
      index = end;
      continue;
    }
    const comment = endOfComment(text, index);
    if (comment > index) {
      index = comment;
      continue;
    }
    index += 1;
    if (char === "{" || char === "[") {
      open += 1;
      depth = Math.max(depth, open);
    } else if (char === "}" || char === "]") {
      open -= 1;
      if (open <= 0) return { end: index, closed: true, inString: false, depth };
    }
  }
  return { end: text.length, closed: false, inString: false, depth };
}

/** Without comments and without commas before a closing bracket. */
function withoutExtras(json: string): string {
  const pieces: string[] = [];
  let lastComma: number | null = null;
  let kept = 0;
  let index = 0;
  while (index < json.length) {
    const char = json[index] ?? "";
    const afterComment = endOfComment(json, index);
    if (char === '"') {
      const end = endOfString(json, index);
      index = end < 0 ? json.length : end;
      lastComma = null;
    } else if (afterComment > index) {
      pieces.push(json.slice(kept, index));
      index = afterComment;
      kept = index;
    } else {
      if (char === ",") {
        pieces.push(json.slice(kept, index));
        lastComma = pieces.push(",") - 1;
        kept = index + 1;
      } else if (char === "}" || char === "]") {
        if (lastComma !== null) pieces[lastComma] = "";
        lastComma = null;
      } else if (char.trim() !== "") lastComma = null;
      index += 1;
    }
  }
  pieces.push(json.slice(kept));
  return pieces.join("");
}

/** Index after the closing quote of the string that opens at `start`; -1 where none comes. */
function endOfString(text: string, start: number): number {
  for (let index = start + 1; index < text.length; index += 1) {
    const char = text[index];
    if (char === "\\") index += 1;
    else if (char === '"') return index + 1;
  }
  return -1;
}

/** Index after the comment that opens at `index`; `index` itself where none does. */
function endOfComment(text: string, index: number): number {
  if (text[index] !== "/") return index;
  const close = text[index + 1] === "/" ? "\n" : text[index + 1] === "*" ? "*/" : null;
  if (close === null) return index;
  const end = text.indexOf(close, index + 2);
  return end < 0 ? text.length : end + (close === "\n" ? 0 : 2);
}
