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
  return [...lines.slice(0, most - 1), cutAtWord(lines.slice(most - 1).join(" "), width)];
}

/** A text that is too wide loses its end, from a word on unless that is a long one. */
function cutAtWord(text: string, width: number): string {
  const cut = cutToWidth(text, width);
  const kept = cut.length - 1;
  if (cut === text || text[kept] === " ") return cut;
  const end = cut.lastIndexOf(" ");
  return end * 2 < kept ? cut : `${cut.slice(0, end)}…`;
}
