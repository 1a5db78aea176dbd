import { expect, it } from "vitest";

/** Reads a text of a person, a model, a tool, a server or a file. */
export type TextReader = (text: string) => unknown;

/**
 * Units of texts that make readers slow when they are repeated: each keeps an unbounded quantifier, a search or a recursion
 * busy without letting it end.
 */
export const hostileUnits: readonly string[] = [
  "a",
  " ",
  "\n",
  "1",
  "!",
  "-",
  ".",
  '"',
  "`",
  "\\",
  "[",
  "(",
  "{",
  "]",
  "> ",
  "*",
  "<",
  "</",
  "<!--",
  "\t- ",
  "a ",
  "A ",
  "a@",
  "a.",
  "a_",
  "1,",
  "1.",
  "1-",
  "12 ",
  "1:",
  "AB12",
  ";#",
  '"\\',
  "{a:1}",
  '{"a":',
  "[a](",
  "|a",
  "/*",
  "${",
  "{{",
  "/a",
  "```\n",
  "Action: a\n",
  "<EMAIL_",
  "May 1 ",
  "+12 345 678 ",
  "4111 1111 ",
  "DE89 3704 ",
  "http://a:",
  "api_key=",
  "QUJD",
  "%41",
  "\\u0041",
  "é",
  "a\u0301",
  "\u0301",
  "\ud800",
  "👩‍👧",
  "\u202e",
  "\u200d",
  "\u0000",
  "\u001b[",
  "世",
  "ﷺ",
];

/** A text of `length` UTF-16 units that repeats a unit, with whole units only. */
export function repeated(unit: string, length: number): string {
  return unit.repeat(Math.max(1, Math.floor(length / unit.length)));
}
