import { headOf } from "../state/cut-text.ts";

/** Shorter strings are measured without making their JSON. */
const shortText = 48;

/** UTF-8 bytes of a string's JSON, quotes included. */
export function jsonStringBytes(text: string): number {
  if (text.length > shortText) return Buffer.byteLength(JSON.stringify(text));
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    const plain = code >= 0x20 && code < 0x7f && code !== 0x22 && code !== 0x5c;
    if (!plain) return Buffer.byteLength(JSON.stringify(text));
  }
  return text.length + 2;
}

/** The longest start of `text` whose JSON, without quotes, has at most `maxBytes` UTF-8 bytes. */
export function cutToJsonBytes(text: string, maxBytes: number): string {
  let low = 0;
  let high = Math.min(text.length, Math.max(0, maxBytes));
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (jsonStringBytes(text.slice(0, middle)) - 2 <= maxBytes) low = middle;
    else high = middle - 1;
  }
  return headOf(text, low);
}
