import { limits } from "./limits.ts";
import type { ExpressionProblem } from "./problem.ts";

const closing: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

/**
 * Where the string literal that begins at `start` ends, the closing quote included, or undefined when nothing closes it.
 * `start` is at the quote; a prefix such as `r` stands before it.
 */
export function endOfString(source: string, start: number): number | undefined {
  const quote = source.charAt(start);
  const raw = /(?:^|\W)[bB]?[rR][bB]?$/.test(source.slice(Math.max(0, start - 3), start));
  const mark = source.startsWith(quote.repeat(3), start) ? quote.repeat(3) : quote;
  for (let at = start + mark.length; at < source.length; at += 1) {
    if (source.startsWith(mark, at)) return at + mark.length;
    if (source[at] === "\\" && !raw) at += 1;
    else if (mark.length === 1 && (source[at] === "\n" || source[at] === "\r")) return undefined;
  }
  return undefined;
}

/**
 * What is wrong with the brackets and quotes of an expression: checked before it is parsed, because a parser names the
 * place poorly and recurses for each level.
 */
export function bracketProblem(source: string): ExpressionProblem | undefined {
  const open: number[] = [];
  for (let at = 0; at < source.length; at += 1) {
    const character = source.charAt(at);
    if (character === '"' || character === "'") {
      const end = endOfString(source, at);
      if (end === undefined) return { message: "the string has no closing quote", offset: at };
      at = end - 1;
    } else if (source.startsWith("//", at)) {
      const end = source.indexOf("\n", at);
      at = end < 0 ? source.length : end;
    } else if (closing[character] !== undefined) {
      open.push(at);
      if (open.length > limits.nesting)
        return {
          message: `brackets are nested more than ${limits.nesting} deep`,
          offset: at,
        };
    } else if (character === ")" || character === "]" || character === "}") {
      const opened = open.pop();
      if (opened === undefined) return { message: `"${character}" closes nothing`, offset: at };
      const expected = closing[source.charAt(opened)];
      if (expected !== character)
        return {
          message: `"${source.charAt(opened)}" is closed by "${character}", not by "${expected}"`,
          offset: at,
        };
    }
  }
  const unclosed = open.at(-1);
  if (unclosed === undefined) return undefined;
  const bracket = source.charAt(unclosed);
  return { message: `"${bracket}" has no closing "${closing[bracket]}"`, offset: unclosed };
}
