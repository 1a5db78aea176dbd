import type { Sink } from "../io.ts";

const eraseLine = "\r\u001B[2K";
const lineUp = "\u001B[1A";

/** Lines at the end of what a terminal shows that are replaced by others, or taken away. Each has to fit in one line there. */
export class LiveBlock {
  readonly #sink: Pick<Sink, "write">;
  /** Lines that are to be erased. */
  #shown = 0;

  constructor(sink: Pick<Sink, "write">) {
    this.#sink = sink;
  }

  /** @param lines at least one */
  show(lines: readonly string[]): void {
    this.#sink.write(`${this.#erasing()}${eraseLine}${lines.join("\n")}`);
    this.#shown = lines.length;
  }

  clear(): void {
    if (this.#shown > 0) this.#sink.write(`${this.#erasing()}${eraseLine}`);
    this.#shown = 0;
  }

  /** All lines but the first one. */
  #erasing(): string {
    return `${eraseLine}${lineUp}`.repeat(Math.max(0, this.#shown - 1));
  }
}
