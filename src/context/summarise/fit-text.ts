import type { TokenCounter } from "../../models/tokens.ts";
import { headOf } from "../../state/cut-text.ts";

/** A text with at most `maxTokens` tokens: of one that has more the beginning and the end, and how much is missing. */
export function fitText(text: string, maxTokens: number, count: TokenCounter): string {
  let characters = 4 * maxTokens;
  for (;;) {
    const fitting = headAndTail(text, characters);
    const tokens = count(fitting);
    if (tokens <= maxTokens || characters <= 0) return fitting;
    const shown = Math.min(characters, text.length);
    characters = Math.floor(0.9 * Math.min((shown * maxTokens) / tokens, shown));
  }
}

/** Three quarters of `characters` from the beginning of a text, and one from its end. */
function headAndTail(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const head = headOf(text, Math.ceil(0.75 * characters));
  const from = text.length - Math.max(0, characters - head.length);
  const tail = text.slice(from).replace(/^[\udc00-\udfff]/, "");
  const missing = text.length - head.length - tail.length;
  return `${head}\n… [cut: ${missing.toLocaleString("en")} characters]\n${tail}`;
}
