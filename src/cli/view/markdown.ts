import type { LineRenderer } from "./streamed-text.ts";
import { plainText, type Style, textWidth, wrapText } from "./terminal.ts";

export interface MarkdownOptions {
  readonly width: number;
  readonly style: Style;
}

/** Stand in the text where a style begins and ends, one column each; no text of a model keeps them. */
const marks = { bold: "\uE000", code: "\uE001", end: "\uE002" } as const;
const markCharacters = /[\uE000-\uE002]/g;

const ruleWidth = 80;

/**
 * Returns a renderer of Markdown, line by line: headings, lists, quotes, fenced code, rules, `**bold**` and `code`. All
 * else, tables and marks without a partner included, stays as it is. Without colours, the marks of headings, bold text
 * and code stay too.
 */
export function markdownRenderer({ width, style }: MarkdownOptions): LineRenderer {
  const isColoured = style.bold("x") !== "x";
  const rule = (title: string) =>
    style.dim((title && `── ${title} `).padEnd(Math.min(width, ruleWidth), "─"));
  const inline = (text: string, first: string, rest: string) => {
    const room = Math.max(10, width - textWidth(plainText(first)));
    const marked = isColoured ? withMarks(text) : text;
    return painted(wrapText(marked, room), style).map((line, i) => (i === 0 ? first : rest) + line);
  };
  return (line, inside) => {
    const fence = /^ {0,3}(`{3,}|~{3,})([^`]*)$/.exec(line);
    const [, mark = "", info = ""] = fence ?? [];
    if (inside !== "") {
      // A fence ends with one of the same characters that is at least as long.
      const isEnd = mark.startsWith(inside) && info.trim() === "";
      return isEnd
        ? { lines: [rule("")], inside: "" }
        : { lines: [style.dim(`  ${line}`)], inside };
    }
    if (fence !== null) {
      return { lines: [rule(info.trim().slice(0, 40))], inside: mark };
    }
    return { lines: block(line), inside };
  };

  function block(line: string): readonly string[] {
    if (/^ *\|/.test(line)) return [line];
    if (/^ {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$/.test(line)) return [rule("")];
    const [, hashes, heading = ""] = /^ {0,3}(#{1,6}) +(.*)$/.exec(line) ?? [];
    if (hashes !== undefined) {
      if (!isColoured) return wrapText(line, width);
      const plain = withoutMarks(withMarks(heading.replace(/ #+ *$/, "")));
      return wrapText(plain, width).map(style.bold);
    }
    const [, indent = "", bullet, item = ""] = /^( *)([-*+]|\d{1,9}[.)]) +(.*)$/.exec(line) ?? [];
    if (bullet !== undefined && indent.length < width / 2) {
      const shown = /^\d/.test(bullet) ? bullet : "•";
      const margin = " ".repeat(indent.length + shown.length + 1);
      return inline(item, `${indent}${shown} `, margin);
    }
    const [, quoted] = /^ {0,3}> ?(.*)$/.exec(line) ?? [];
    if (quoted !== undefined) return inline(quoted, style.dim("│ "), style.dim("│ "));
    return inline(line, "", "");
  }
}

/** Renders a whole text. Blank lines around it are left out. */
export function markdownLines(text: string, options: MarkdownOptions): string[] {
  const render = markdownRenderer(options);
  let inside = "";
  return plainText(text)
    .replace(/^\n+/, "")
    .trimEnd()
    .split("\n")
    .flatMap((line) => {
      const rendered = render(line, inside);
      inside = rendered.inside;
      return rendered.lines;
    });
}

/** A line with `**` and backquotes that have a partner replaced by marks. Takes time linear in the line. */
function withMarks(line: string): string {
  const text = line.replace(markCharacters, "\uFFFD");
  const parts: string[] = [];
  let plain = 0;
  /** Where in `parts` the open `**` stands. */
  let bold: number | null = null;
  let lastCode = text.lastIndexOf("`");
  let at = 0;
  const flush = () => {
    parts.push(text.slice(plain, at));
  };
  while (at < text.length) {
    const character = text[at];
    if (character === "`" && at < lastCode) {
      const end = text.indexOf("`", at + 1);
      if (end > at + 1) {
        flush();
        parts.push(marks.code, text.slice(at + 1, end), marks.end);
        at = end + 1;
        plain = at;
        continue;
      }
      // A run of several, which is left as it is.
      at = end + 1;
      continue;
    }
    if (character === "*" && text[at + 1] === "*") {
      const opens: boolean = /\S/.test(text[at + 2] ?? "") && text[at + 2] !== "*";
      const closes: boolean = /\S/.test(text[at - 1] ?? "") && bold !== null;
      if (closes || (opens && bold === null)) {
        flush();
        if (closes) parts.push(marks.end);
        else parts.push(marks.bold);
        bold = closes ? null : parts.length - 1;
        at += 2;
        plain = at;
        continue;
      }
      at += 2;
      continue;
    }
    at += 1;
  }
  flush();
  if (bold !== null) parts[bold] = "**";
  return parts.join("");
}

function withoutMarks(text: string): string {
  return text.replace(markCharacters, "");
}

/** Wrapped lines with the text between marks styled; a style goes on in the next line. Code may be inside of bold text. */
function painted(lines: readonly string[], style: Style): string[] {
  const open: string[] = [];
  return lines.map((line) =>
    line
      .split(/([\uE000-\uE002])/)
      .map((part) => {
        if (part === marks.end) open.pop();
        else if (part === marks.bold || part === marks.code) open.push(part);
        else if (part !== "") {
          const code = open.includes(marks.code) ? style.cyan(part) : part;
          return open.includes(marks.bold) ? style.bold(code) : code;
        }
        return "";
      })
      .join(""),
  );
}
