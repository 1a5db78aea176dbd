import { headOf } from "../../state/cut-text.ts";

const maxLines = 20;
const maxLineCharacters = 500;

/** The last 20 lines of a stream of text, each cut to 500 characters, whatever is written to it. */
export class LastLines {
  readonly #lines: string[] = [];
  #open = "";

  push(text: string): void {
    const [first = "", ...rest] = text.split("\n");
    this.#extend(first);
    for (const line of rest) {
      this.#close();
      this.#extend(line);
    }
  }

  /** Without empty lines. */
  get lines(): readonly string[] {
    return [...this.#lines, this.#open].filter((line) => line.trim() !== "").slice(-maxLines);
  }

  #extend(text: string): void {
    this.#open = headOf(this.#open + headOf(text, maxLineCharacters), maxLineCharacters);
  }

  #close(): void {
    if (this.#open.trim() !== "") this.#lines.push(this.#open.trimEnd());
    if (this.#lines.length > maxLines) this.#lines.shift();
    this.#open = "";
  }
}
