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
  for (const { segment } of graphemes.segment(text)) width += graphemeWidth(segment);
  return width;
}

/** A text that is too wide loses its end, and ends in `…` then. */
export function cutToWidth(text: string, width: number): string {
  if (text.length <= width && printableAscii.test(text)) return text;
  let used = 0;
  let fitting = 0;
  for (const { segment, index } of graphemes.segment(text)) {
    used += graphemeWidth(segment);
    if (used > width) return `${text.slice(0, fitting).trimEnd()}…`;
    if (used <= width - 1) fitting = index + segment.length;
  }
  return text;
}

/** Breaks the lines of a text that are too wide, between words where that goes; their indentation is kept. */
export function wrapText(text: string, width: number): string[] {
  return text.split("\n").flatMap((line) => wrapLine(line.trimEnd(), width));
}

function wrapLine(line: string, width: number): string[] {
  if (line.length * 2 <= width || textWidth(line) <= width) return [line];
  const indent = /^ */.exec(line)?.[0] ?? "";
  const margin = indent.length * 2 <= width ? indent : "";
  const lines: string[] = [];
  let current = margin;
  for (const word of line.trimStart().split(/ +/)) {
    const joined = current === margin ? margin + word : `${current} ${word}`;
    if (textWidth(joined) <= width) {
      current = joined;
      continue;
    }
    if (current !== margin) lines.push(current);
    current = margin;
    for (const { segment } of graphemes.segment(word)) {
      if (current !== margin && textWidth(current) + graphemeWidth(segment) > width) {
        lines.push(current);
        current = margin;
      }
      current += segment;
    }
  }
  lines.push(current);
  return lines;
}

function graphemeWidth(grapheme: string): number {
  if (invisible.test(grapheme)) return 0;
  return wide.test(grapheme) ? 2 : 1;
}
