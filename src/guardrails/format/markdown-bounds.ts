/** UTF-16 units of a text. The parser takes one to three seconds for them. */
const mostCharacters = 100_000;
/** Signs of inline Markdown in one block. The parser compares them with each other: 2,000 take about a tenth of a second. */
const mostSigns = 2000;
/** Quotes and lists inside one another on one line. */
const mostNested = 100;

const sign = /[*_~[\]{<>:]/g;
const container = /[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t]))/y;
const blank = /^[>\s]*$/;
/** Begins a block, whatever came before. */
const opening = /^ {0,3}(?:[-*+] +\S|#{1,6} )/;
const fence = /^(`{3,}(?=[^`]*$)|~{3,})/;
/** Opens a block of HTML, mathematics or a directive, in which a fence opens no code. */
const otherBlock = /^ {0,3}(?:<|\$\$|:::)/;

/**
 * What makes a text too much for the parser of Markdown, whose time grows with the square of a block's signs and whose
 * stack with their depth; null where nothing does. Linear in the text.
 */
export function markdownBoundsProblem(text: string): string | null {
  if (text.length > mostCharacters) {
    return `The text is too long to be checked as Markdown; write at most ${mostCharacters.toLocaleString("en")} characters.`;
  }
  let signs = 0;
  let code: string | null = null;
  let hasOtherBlock = false;
  for (const [index, line] of text.split(/\r\n|[\r\n]/).entries()) {
    const [mark] = fence.exec(line) ?? [];
    if (code !== null) {
      if (mark?.startsWith(code) && line.trimEnd() === mark) code = null;
      continue;
    }
    if (blank.test(line) || opening.test(line)) signs = 0;
    signs += line.match(sign)?.length ?? 0;
    if (signs > mostSigns) {
      return `Line ${index + 1}: the block has more than ${mostSigns.toLocaleString("en")} signs of Markdown; write shorter paragraphs.`;
    }
    if (isNestedTooDeep(line)) {
      return `Line ${index + 1}: quotes and lists are nested more than ${mostNested} deep; nest them less.`;
    }
    hasOtherBlock ||= otherBlock.test(line);
    if (mark !== undefined && !hasOtherBlock) {
      code = mark;
      signs = 0;
    }
  }
  return null;
}

function isNestedTooDeep(line: string): boolean {
  container.lastIndex = 0;
  for (let depth = 0; container.test(line); depth += 1) if (depth === mostNested) return true;
  return false;
}
