import { endOfString } from "./brackets.ts";
import type { Compiled } from "./problem.ts";

/** A piece of a template: text as it stands, or an expression and where it begins. */
export type TemplatePart =
  | { readonly text: string }
  | { readonly expression: string; readonly offset: number };

/**
 * Takes a template apart. The end of `${…}` is the first `}` that is neither in a string literal of the expression nor
 * closes a `{` of it. `$${` is the text `${`.
 */
export function templateParts(text: string): Compiled<readonly TemplatePart[]> {
  const parts: TemplatePart[] = [];
  let from = 0;
  let written = "";
  for (let at = text.indexOf("${"); at >= 0; at = text.indexOf("${", from)) {
    written += text.slice(from, at);
    if (written.endsWith("$") && at > from) {
      written = `${written.slice(0, -1)}\${`;
      from = at + 2;
      continue;
    }
    const end = endOfExpression(text, at + 2);
    if (end === undefined)
      return { ok: false, problems: [{ message: '"${" has no closing "}"', offset: at }] };
    if (written !== "") parts.push({ text: written });
    written = "";
    parts.push({ expression: text.slice(at + 2, end), offset: at + 2 });
    from = end + 1;
  }
  written += text.slice(from);
  if (written !== "") parts.push({ text: written });
  return { ok: true, value: parts };
}

function endOfExpression(text: string, start: number): number | undefined {
  let open = 0;
  for (let at = start; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (character === '"' || character === "'") {
      const end = endOfString(text, at);
      if (end === undefined) return undefined;
      at = end - 1;
    } else if (character === "{") open += 1;
    else if (character === "}") {
      if (open === 0) return at;
      open -= 1;
    }
  }
  return undefined;
}
