import { headOf } from "../../state/cut-text.ts";

/** The longest that the mark of what is left out can be. */
export const longestMark = 60;

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
