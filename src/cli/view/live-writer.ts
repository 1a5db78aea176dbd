import type { Clock } from "../../clock.ts";
import type { Sink } from "../io.ts";
import type { Style } from "./style.ts";
import { cutToWidth } from "./text-width.ts";

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const frameMs = 120;
const eraseLine = "\r\u001B[2K";

export interface LiveWriterOptions {
  readonly sink: Sink;
  readonly style: Style;
  readonly clock: Clock;
}

/**
 * Prints lines, and on a terminal keeps a line below them that says what is going on. That line is erased before
 * anything else is printed, and at the end. Elsewhere only the lines come out.
 */
export class LiveWriter {
  readonly #options: LiveWriterOptions;
  #activity: string | null = null;
  #since = 0;
  #frame = 0;
  #shown = false;
  #cancel: () => void = () => {};

  constructor(options: LiveWriterOptions) {
    this.#options = options;
  }

  print(lines: readonly string[]): void {
    if (lines.length === 0) return;
    this.#erase();
    this.#options.sink.write(lines.map((line) => `${line}\n`).join(""));
    this.#draw();
  }

  /** Null takes the line away. */
  setActivity(activity: string | null): void {
    if (activity === this.#activity) return;
    this.#activity = activity;
    this.#since = this.#options.clock.monotonic();
    this.#cancel();
    this.#erase();
    if (activity !== null && this.#options.sink.isTerminal) this.#tick();
  }

  #tick(): void {
    this.#draw();
    this.#frame += 1;
    this.#cancel = this.#options.clock.after(frameMs, () => this.#tick());
  }

  #draw(): void {
    const { sink, style, clock } = this.#options;
    if (this.#activity === null || !sink.isTerminal) return;
    const elapsed = clock.monotonic() - this.#since;
    const time = elapsed < 1000 ? "" : ` ${Math.floor(elapsed / 1000)} s`;
    const mark = frames[this.#frame % frames.length] ?? "";
    const text = cutToWidth(`${this.#activity}…${time}`, Math.max(1, (sink.columns ?? 80) - 5));
    sink.write(`${eraseLine} ${mark}  ${style.dim(text)}`);
    this.#shown = true;
  }

  #erase(): void {
    if (this.#shown) this.#options.sink.write(eraseLine);
    this.#shown = false;
  }
}
