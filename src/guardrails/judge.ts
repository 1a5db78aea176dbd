const longestQuote = 4000;

/**
 * A text as data for a judge: each line begins with `| `, so that nothing in it can end the quotation. Of a long text only
 * 4,000 characters around `at` are given.
 */
export function quotedText(text: string, at = 0): string {
  const { start, end } = quotedPart(text, at);
  return text
    .slice(start, end)
    .split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/)
    .map((line) => `| ${line}`)
    .join("\n");
}

/** What {@link quotedText} quotes, in UTF-16 units of the text. */
export function quotedPart(text: string, at = 0): { readonly start: number; readonly end: number } {
  const start = Math.max(0, Math.min(at - longestQuote / 4, text.length - longestQuote));
  return { start, end: Math.min(start + longestQuote, text.length) };
}

/**
 * Reads which of some words a judge said: alone, in a sentence or as a value in JSON.
 * @returns null where it said none of them, or more than one
 */
export function readVerdict<Word extends string>(
  reply: string,
  words: readonly Word[],
): Word | null {
  const said = new Set(reply.toUpperCase().match(/[A-Z_]+/g) ?? []);
  const found = words.filter((word) => said.has(word));
  return found.length === 1 ? (found[0] ?? null) : null;
}
