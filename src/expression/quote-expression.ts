/** Characters of an expression shown before and after the place. */
const shownBefore = 60;
const shownAfter = 60;

/**
 * The expression and a place in it for a message: `'nodes.clasify.choice == "x"' at character 7`. Long sources are cut
 * around the place; what could change how a terminal shows the message is escaped.
 */
export function quoteExpression(source: string, offset: number): string {
  const place = Math.min(Math.max(0, offset), source.length);
  let start = place > shownBefore ? place - shownBefore : 0;
  let end = Math.min(source.length, place + shownAfter);
  if (isLowSurrogate(source, start)) start += 1;
  if (isLowSurrogate(source, end)) end -= 1;
  const text = source.slice(start, end).replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, escapeCharacter);
  const shown = `${start > 0 ? "…" : ""}${text}${end < source.length ? "…" : ""}`;
  return `'${shown}' at character ${place + 1}`;
}

function escapeCharacter(character: string): string {
  if (character === "\n") return "\\n";
  if (character === "\t") return "\\t";
  return `\\u{${character.codePointAt(0)?.toString(16) ?? ""}}`;
}

function isLowSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index);
  return unit >= 0xdc00 && unit <= 0xdfff;
}
