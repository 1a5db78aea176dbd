/** The first `length` UTF-16 units, or one less where that would split a surrogate pair. */
export function headOf(text: string, length: number): string {
  if (text.length <= length) return text;
  const last = text.charCodeAt(length - 1);
  const splits = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, splits ? length - 1 : length);
}

/** A text longer than `maxLength` UTF-16 units is cut there, and how much is missing is said after it. */
export function cutText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text;
  const head = headOf(text, maxLength);
  return head + cutMark(text.length - head.length);
}

/** `atLeast` where not all of what is missing was counted. */
export function cutMark(missing: number, atLeast = false): string {
  return `… [cut: ${atLeast ? "more than " : ""}${missing.toLocaleString("en")} more characters]`;
}
