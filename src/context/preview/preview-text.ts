import { cleanText } from "../clean-text.ts";
import { compactNotation } from "../notation/compact-notation.ts";
import { preview, type PreviewOptions } from "./preview.ts";
import { salientValues } from "./salient-values.ts";

export interface PreviewTextOptions extends PreviewOptions {
  /** Identifiers of the whole value that are named where the preview does not show them. @default 40 */
  readonly keepValues?: number;
}

/** Identifiers that are looked for, and characters of those that are named for each of `keepValues`. */
const countedValues = 1000;
const charactersEach = 30;

/**
 * A large tool result as bounded text for planning: its preview in the compact notation, and on a line after it
 * (`also in it: R1, R2, … 40 more`) the identifiers that the preview does not show. Never throws.
 */
export function previewText(value: unknown, options: PreviewTextOptions = {}): string {
  const { keepValues = 40 } = options;
  const text = cleanText(compactNotation(preview(value, options)));
  const hidden = salientValues(value, countedValues)
    .map(cleanText)
    .filter((one) => !text.includes(one));
  const kept: string[] = [];
  let room = keepValues * charactersEach;
  for (const one of hidden.slice(0, keepValues)) {
    room -= one.length;
    if (room < 0) break;
    kept.push(one);
  }
  if (kept.length === 0) return text;
  const left = hidden.length - kept.length;
  const rest =
    left > 0 ? `, … ${hidden.length >= countedValues ? "more than " : ""}${left} more` : "";
  return `${text}\nalso in it: ${kept.join(", ")}${rest}`;
}
