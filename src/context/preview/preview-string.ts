import { cutMiddle, longestMark, more } from "./cut-middle.ts";
import type { HtmlText } from "./html-text.ts";
import { readText, type TextRead } from "./read-text.ts";
import type { TableText } from "./table-text.ts";

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
