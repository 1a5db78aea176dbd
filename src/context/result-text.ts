import { cutText } from "../state/cut-text.ts";
import type { ToolResult } from "../state/step-record.ts";
import { cleanText } from "./clean-text.ts";
import { compactNotation } from "./notation/compact-notation.ts";
import { previewText } from "./preview/preview-text.ts";

/** Characters of an error's message that a model reads. */
export const errorCharacters = 4000;

/** A tool result as JSON, or as the text it is; of a call that did not succeed its outcome with its message before. */
export function plainResultText(result: ToolResult): string {
  return outcomeText(result, (value) =>
    typeof value === "string" ? value : (JSON.stringify(value) ?? "null"),
  );
}

/** A tool result whole, as a model reads it: a text as it is, a value with little said twice. */
export function resultText(result: ToolResult): string {
  return cleanText(outcomeText(result, wholeText));
}

function wholeText(value: unknown): string {
  try {
    return compactNotation(value);
  } catch {
    // What JSON cannot say: circles, big integers, a `toJSON` that throws.
    return previewText(value, { maxChars: errorCharacters, maxItems: 100 });
  }
}

/** A result with its value told by `tell`. */
export function outcomeText(result: ToolResult, tell: (value: unknown) => string): string {
  const warning = result.warning === undefined ? "" : `[${result.warning}]\n`;
  if (result.outcome === "success") return warning + tell(result.result);
  const partial = result.result === null ? "" : `\n${tell(result.result)}`;
  return `${warning}${result.outcome}: ${cutText(result.error ?? "", errorCharacters)}${partial}`;
}
