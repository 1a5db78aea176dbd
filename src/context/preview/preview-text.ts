import { cleanText } from "../clean-text.ts";
import { compactNotation } from "../notation/compact-notation.ts";
import { preview, type PreviewOptions } from "./preview.ts";
import { salientValues } from "./salient-values.ts";

export interface PreviewTextOptions extends PreviewOptions {
  /** Identifiers of the whole value that are named where the preview does not show them. @default 40 */
  readonly keepValues?: number;
}

/** The bounded text of a large tool result: its preview, then the identifiers in it that the preview does not show. */
export function previewText(value: unknown, options: PreviewTextOptions = {}): string {
  const { keepValues = 40 } = options;
  const text = compactNotation(preview(value, options));
  const hidden = salientValues(value, 1000).filter((one) => !text.includes(one));
  if (hidden.length === 0) return cleanText(text);
  const more = hidden.length > keepValues ? `, … ${hidden.length - keepValues} more` : "";
  return cleanText(`${text}\nalso in it: ${hidden.slice(0, keepValues).join(", ")}${more}`);
}
