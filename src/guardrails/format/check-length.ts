import type { FormatCheck } from "./format-check.ts";

/** Characters are code points: an emoji of one code point counts once. */
export function checkLength(least: number, most: number): FormatCheck {
  return ({ text }) => {
    const length = countCharacters(text);
    if (length < least) return [`The text has ${length} characters; write at least ${least}.`];
    if (length > most) return [`The text has ${length} characters; write at most ${most}.`];
    return [];
  };
}

function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
