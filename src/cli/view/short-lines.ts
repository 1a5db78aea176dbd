import { headOf } from "../../state/cut-text.ts";
import { plainLine } from "./plain-text.ts";
import { cutToWidth, wrapText } from "./text-width.ts";

/** Characters that are looked at: nothing that is shown needs more. */
const readCharacters = 2000;

/** A text on at most so many lines, its white space collapsed. */
export function shortLines(text: string, width: number, most: number): string[] {
  const line = plainLine(headOf(text, readCharacters));
  if (line === "") return [];
  const lines = wrapText(line, width);
  if (lines.length <= most) return lines;
  const rest = lines.slice(most - 1).join(" ");
  return [...lines.slice(0, most - 1), cutToWidth(rest, width)];
}
