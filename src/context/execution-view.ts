import { inOneLine } from "../state/step-record.ts";
import { jsonHead } from "../values/bounded-json.ts";
import { isRecord } from "../values/json.ts";
import { truncateText } from "../values/text.ts";
import { cleanText } from "./clean-text.ts";
import { previewText } from "./preview/preview.ts";

/** Keys that have a line of their own, and characters of a key. */
const shownKeys = 20;
const keyCharacters = 60;

/** Characters of the previews of one view; further keys have only their size. */
const previewCharacters = 2000;

/** How a value is previewed, and characters that this takes at most. */
const previewed = { maxChars: 200, maxItems: 3, maxTotal: 400, keepValues: 10 } as const;
const valueCharacters = 800;

/**
 * Returns what a state holds, one line for each key: a preview of its value, or its size where there is no room. Empty
 * values are left out, because initial state is mostly empty. At most about 5,000 characters. Never throws.
 *
 * @param state the execution state, or its {@link executionSizes}
 */
export function executionLines(state: unknown): readonly string[] {
  const held = heldEntries(state);
  let room = previewCharacters;
  const lines = held.slice(0, shownKeys).map(([key, value]) => {
    const name = truncateText(inOneLine(cleanText(key)), keyCharacters);
    // Large values cost time to preview, so only those are that have room for certain.
    const mayFit = room >= valueCharacters || (room > 0 && jsonHead(value, room).whole);
    // A line of a text must not look like another key.
    const text = mayFit ? inOneLine(previewText(value, previewed)) : null;
    if (text === null || text.length > room) return `- ${name}: ${sizeOf(value)}`;
    room -= text.length;
    return `- ${name}: ${text}`;
  });
  const more = held.length - lines.length;
  return more > 0 ? [...lines, `- … ${more.toLocaleString("en")} more keys`] : lines;
}

/** Returns the lines of a view that earlier views lack: of each key, only its last earlier line is current. */
export function newLines(
  view: readonly string[],
  earlier: readonly (readonly string[])[],
): readonly string[] {
  const known = new Map(earlier.flat().map((line) => [keyOf(line), line]));
  return view.filter((line) => known.get(keyOf(line)) !== line);
}

/** Returns the key that a line begins with. */
function keyOf(line: string): string {
  return line.split(": ", 1)[0] ?? line;
}

/** Returns the execution state with a text of its size in place of each value, and without empty ones. */
export function executionSizes(execution: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(heldEntries(execution).map(([key, value]) => [key, sizeOf(value)]));
}

function heldEntries(state: unknown): readonly (readonly [string, unknown])[] {
  const all = isRecord(state) ? Object.entries(state) : [];
  return all.filter(([, value]) => !isEmpty(value));
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

/** `list of 3`, `object with 2 keys`, `text of 1,200 characters` */
function sizeOf(value: unknown): string {
  if (Array.isArray(value)) return `list of ${value.length.toLocaleString("en")}`;
  if (typeof value === "string") return `text of ${value.length.toLocaleString("en")} characters`;
  if (typeof value !== "object" || value === null) return typeof value;
  return `object with ${Object.keys(value).length.toLocaleString("en")} keys`;
}
