import { wrapText } from "./text-width.ts";

/** `label text`, wrapped at words, with the label coloured. Further lines of the text keep their indentation. */
export function labelledLines(
  label: string,
  text: string,
  options: {
    readonly width: number;
    readonly colour: (text: string) => string;
    /** Columns before the label. Default 0. */
    readonly indent?: number;
  },
): string[] {
  const margin = " ".repeat(options.indent ?? 0);
  const [first = "", ...others] = wrapText(`${margin}${label} ${text}`, options.width);
  const rest = first.slice(margin.length + label.length);
  return [`${margin}${options.colour(label)}${rest}`, ...others];
}
