import { headOf } from "../../values/text.ts";
import { plainText } from "./terminal.ts";

/**
 * Renders one line of a text without control characters. `inside` is what the lines before it left open, empty at the
 * beginning; the result has what it leaves open itself.
 */
export type LineRenderer = (
  line: string,
  inside: string,
) => { readonly lines: readonly string[]; readonly inside: string };

/** Characters of a line that is rendered while it grows; a longer one is broken there. */
const longestLine = 4000;
/** Rendered lines that are kept. */
const mostLines = 2000;

/**
 * The end of a text that later characters may complete: an escape sequence, a pair of surrogates, a joined character, a
 * line break. Parts that follow each other share no character, so that matching takes linear time.
 */
const incomplete =
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  /(?:\u001B(?:\[[0-?]*[ -/]*|\][\w;#&.:=?%@~/-]*\u001B?|[()#])?|\u009B[0-?]*[ -/]*|[\uD800-\uDBFF\r]|\u200C|\u200D)$/;

/**
 * A text of a model that arrives in pieces, as lines that are safe to print. An escape sequence that two pieces share is
 * taken out like any other.
 */
export class StreamedText {
  readonly #render: LineRenderer;
  #lines: string[] = [];
  #inside = "";
  /** The line that has not ended, as it came. */
  #rest = "";

  constructor(render: LineRenderer) {
    this.#render = render;
  }

  append(piece: string): void {
    this.#rest += piece;
    let from = 0;
    for (let end = this.#rest.indexOf("\n"); end >= 0; end = this.#rest.indexOf("\n", from)) {
      this.#end(this.#rest.slice(from, end));
      from = end + 1;
    }
    this.#rest = this.#rest.slice(from);
    while (this.#rest.length > longestLine) {
      const head = headOf(this.#rest, longestLine);
      this.#rest = this.#rest.slice(head.length);
      this.#end(head);
    }
  }

  /** The rendered lines, at most the last 2,000, with the line that has not ended. Blank lines at the beginning are left out. */
  get lines(): readonly string[] {
    const rest = plainText(this.#rest.replace(incomplete, ""));
    if (rest === "") return this.#lines;
    return [...this.#lines, ...this.#rendered(rest).lines];
  }

  #end(line: string): void {
    const { lines, inside } = this.#rendered(plainText(line.replace(/\r$/, "")));
    this.#inside = inside;
    for (const rendered of lines) {
      if (rendered !== "" || this.#lines.length > 0) this.#lines.push(rendered);
    }
    if (this.#lines.length > 2 * mostLines) this.#lines = this.#lines.slice(-mostLines);
  }

  /** A carriage return inside of the line has become a line break. */
  #rendered(text: string): ReturnType<LineRenderer> {
    const lines: string[] = [];
    let inside = this.#inside;
    for (const line of text.split("\n")) {
      const rendered = this.#render(line, inside);
      lines.push(...rendered.lines);
      inside = rendered.inside;
    }
    return { lines, inside };
  }
}
