import { headOf } from "../../state/cut-text.ts";

const printableAscii = /^[\u0020-\u007E]*$/;
/** East Asian wide and full-width characters (Unicode annex 11), and what is shown as an emoji. */
const wide =
  /[\u1100-\u115F\u2E80-\u303E\u3041-\u4DBF\u4E00-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}|\uFE0F/u;
const invisible = /^[\p{M}\p{Cf}]+$/u;
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Columns that a text without control characters takes on a terminal. */
export function textWidth(text: string): number {
  if (printableAscii.test(text)) return text.length;
  let width = 0;
  for (const { columns } of graphemesOf(text)) width += columns;
  return width;
}

/** A text that is too wide loses its end, and ends in `…` then. */
export function cutToWidth(text: string, width: number): string {
  if (text.length <= width && printableAscii.test(text)) return text;
  let used = 0;
  let fitting = 0;
  for (const { columns, end } of graphemesOf(text)) {
    used += columns;
    if (used > width) return `${text.slice(0, fitting).trimEnd()}…`;
    if (used <= width - 1) fitting = end;
  }
  return text;
}

/**
 * Breaks the lines of a text that are too wide, between words where that goes; their indentation is kept. Takes time
 * linear in the text.
 */
export function wrapText(text: string, width: number): string[] {
  return text.split("\n").flatMap((line) => wrapLine(line.trimEnd(), width));
}

function wrapLine(line: string, width: number): string[] {
  if (line.length * 2 <= width || textWidth(line) <= width) return [line];
  const indent = /^ */.exec(line)?.[0] ?? "";
  const margin = indent.length * 2 <= width ? indent : "";
  const lines: string[] = [];
  let current = "";
  let used = margin.length;
  const end = () => {
    lines.push(margin + current);
    current = "";
    used = margin.length;
  };
  for (const word of line.trimStart().split(/ +/)) {
    const columns = textWidth(word);
    const gap = current === "" ? 0 : 1;
    if (used + gap + columns <= width) {
      current += " ".repeat(gap) + word;
      used += gap + columns;
      continue;
    }
    if (current !== "") end();
    let start = 0;
    for (const grapheme of graphemesOf(word)) {
      if (grapheme.start > start && used + grapheme.columns > width) {
        current = word.slice(start, grapheme.start);
        start = grapheme.start;
        end();
      }
      used += grapheme.columns;
    }
    current = word.slice(start);
  }
  lines.push(margin + current);
  return lines;
}

/** What a reader takes for one character, by its place in the text, with the columns that it takes. */
interface Grapheme {
  readonly start: number;
  readonly end: number;
  readonly columns: number;
}

/** Characters that are segmented at once: the time of a segmenter grows with the square of the text's length. */
const segmented = 128;

/**
 * The graphemes of a text in order, in time linear in it. The last one of each piece is segmented again with what comes
 * after, since it may go on there.
 */
function* graphemesOf(text: string): Generator<Grapheme> {
  let length = segmented;
  for (let start = 0; start < text.length;) {
    if (isSimple(text.charCodeAt(start)) && isSimpleOrEnd(text, start + 1)) {
      yield { start, end: start + 1, columns: text.charCodeAt(start) < firstWide ? 1 : 2 };
      start += 1;
      continue;
    }
    const from = start;
    const piece = headOf(text.slice(from, from + length + 1), length);
    const isLast = from + piece.length === text.length;
    for (const { segment, index } of graphemes.segment(piece)) {
      const end = from + index + segment.length;
      if (end === from + piece.length && !isLast) break;
      yield { start: from + index, end, columns: graphemeWidth(segment) };
      start = end;
    }
    length = start === from ? length * 2 : segmented;
  }
}

const firstWide = 0x1100;

/** Letters and signs of Latin and Han: two of them never are one grapheme. */
function isSimple(code: number): boolean {
  return (
    (code >= 0x20 && code < 0x7f) ||
    (code >= 0xa0 && code < 0x300 && code !== 0xad) ||
    (code >= 0x4e00 && code <= 0x9fff)
  );
}

function isSimpleOrEnd(text: string, at: number): boolean {
  return at === text.length || isSimple(text.charCodeAt(at));
}

function graphemeWidth(grapheme: string): number {
  if (invisible.test(grapheme)) return 0;
  return wide.test(grapheme) ? 2 : 1;
}
