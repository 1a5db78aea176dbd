import { eastAsianWidth } from "get-east-asian-width";
import picocolors from "picocolors";
import { headOf } from "../../values/text.ts";

/** Marks up text for a terminal, or leaves it as it is. */
export type Style = Readonly<
  Record<"bold" | "dim" | "red" | "green" | "yellow" | "cyan", (text: string) => string>
>;

export function createStyle(coloured: boolean): Style {
  return picocolors.createColors(coloured);
}

/**
 * FORCE_COLOR decides where it is set (`0` and `false` say no), then NO_COLOR, then whether it is a terminal that can.
 * See https://force-color.org and https://no-color.org.
 */
export function wantsColour(
  isTerminal: boolean,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  const forced = env["FORCE_COLOR"];
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  return isTerminal && !env["NO_COLOR"] && env["TERM"] !== "dumb";
}

const printableAscii = /^[\u0020-\u007E]*$/;
const emoji = /\p{Emoji_Presentation}|\uFE0F/u;
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
  return emoji.test(grapheme) ? 2 : eastAsianWidth(grapheme.codePointAt(0) ?? 0);
}

/** Characters that are looked at: nothing that is shown needs more. */
const readCharacters = 2000;

/** Returns a text on a maximum number of lines, with white space collapsed. */
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

/**
 * Escape sequences of terminals (ECMA-48): control sequences, operating system commands such as links, and single
 * characters after an escape. Parts that follow each other share no character, so that matching takes linear time; that
 * of Node's `stripVTControlCharacters` grows with the square of a run such as `;#`. Words after a command are not taken
 * out: nothing that a person has to read may hide in one.
 */
const escapeSequences =
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  /(?:\u001B\[|\u009B)[0-?]*[ -/]*[@-~]|\u001B\][\w;#&.:=?%@~/-]*(?:[\u0007\u009C]|\u001B\\)|\u001B[()#][ -~]|\u001B[\dA-OR-TZcf-ntqry=><~]/g;
/**
 * Characters without a shape of their own, which make a line read otherwise than it is: directions, spaces of no width,
 * tags. A joiner stays between characters of the scripts and emoji that it joins.
 */
const invisibleCharacters =
  /(?![\u200C\u200D])\p{Cf}|(?<=^|\p{ASCII})[\u200C\u200D]|[\u200C\u200D](?=$|\p{ASCII})/gu;
/** Everything that acts instead of being shown, other than tab and line feed, and halves of surrogate pairs. */
const controls = /[\p{Cc}\p{Cs}\u2028\u2029]/gu;
const deleteCode = 0x7f;
const firstControlPicture = 0x2400;
const deletePicture = "\u2421";

/**
 * A text from a model, a tool or a file, made safe to print: terminal escape sequences are taken out, every other
 * control character is shown as its picture, and tabs become spaces. Line feeds stay.
 */
export function plainText(text: string): string {
  return visibleText(text.replace(escapeSequences, ""));
}

/** The same with nothing taken out: the characters of escape sequences are shown, none of which acts. */
export function visibleText(text: string): string {
  return text
    .replace(/\r\n?/g, "\n")
    .replace(invisibleCharacters, "\uFFFD")
    .replaceAll("\t", "    ")
    .replace(controls, (control) => (control === "\n" ? control : pictureOf(control)));
}

/** The same on one line, with every run of white space as one space. */
export function plainLine(text: string): string {
  return plainText(text).replace(/\s+/g, " ").trim();
}

function pictureOf(control: string): string {
  const code = control.charCodeAt(0);
  if (code === deleteCode) return deletePicture;
  return code < 0x20 ? String.fromCharCode(firstControlPicture + code) : "\uFFFD";
}

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

/** A text that is shown whole, however long it is. */
export interface Passage {
  readonly text: string;
  /** The lines that show a part of the text; `isFirst` for its beginning. */
  readonly lines: (part: string, isFirst: boolean) => readonly string[];
}

export interface Page {
  readonly lines: readonly string[];
  /** Characters of the passages that come after it. */
  readonly left: number;
}

/** What fits on a page. Bounded, since models write what is on it; most of what is asked fits on one. */
const pageCharacters = 16_000;
const pageBreaks = 400;

/** Pages with all of the passages, at least one. Each is laid out when it is asked for. */
export function* pagesOf(passages: readonly Passage[]): Generator<Page, undefined> {
  let left = passages.reduce((sum, { text }) => sum + text.length, 0);
  let lines: string[] = [];
  let room = { characters: pageCharacters, breaks: pageBreaks };
  for (const { text, lines: linesOf } of passages) {
    let at = 0;
    do {
      if (room.characters <= 0 || room.breaks <= 0) {
        yield { lines, left };
        lines = [];
        room = { characters: pageCharacters, breaks: pageBreaks };
      }
      const part = partOf(text.slice(at, at + room.characters + 1), room);
      lines.push(...linesOf(part, at === 0));
      at += part.length;
      left -= part.length;
      const breaks = part.split("\n").length;
      // Passages without a text take their lines too.
      room = { characters: room.characters - part.length, breaks: room.breaks - breaks };
      if (at < text.length) room = { characters: 0, breaks: 0 };
    } while (at < text.length);
  }
  yield { lines, left };
  return undefined;
}

/** The beginning of a text that fits, at least one character of it. */
function partOf(
  text: string,
  { characters, breaks }: { characters: number; breaks: number },
): string {
  let end = -1;
  for (let line = 0; line < breaks; line += 1) {
    end = text.indexOf("\n", end + 1);
    if (end < 0) break;
  }
  const whole = end < 0 ? text : text.slice(0, end + 1);
  return headOf(whole, characters) || text.slice(0, 2);
}
