import type { Clock } from "../../clock.ts";
import type { Sink } from "../io.ts";
import { cutToWidth, type Style } from "./terminal.ts";

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const frameMs = 120;
/** Lines below the one that says what is going on: a terminal has more. */
const mostTasks = 8;

export interface LiveWriterOptions {
  readonly sink: Sink;
  readonly style: Style;
  readonly clock: Clock;
}

/**
 * Prints lines, and on a terminal keeps a line below them that says what is going on, and one for each task of it that is
 * told. These are erased before anything else is printed, and at the end. Elsewhere only the lines come out.
 */
export class LiveWriter {
  readonly #options: LiveWriterOptions;
  #activity: string | null = null;
  #since = 0;
  /** When each task was first told. */
  #tasks: ReadonlyMap<string, number> = new Map();
  #frame = 0;
  readonly #block: LiveBlock;
  #cancel: () => void = () => {};

  constructor(options: LiveWriterOptions) {
    this.#options = options;
    this.#block = new LiveBlock(options.sink);
  }

  print(lines: readonly string[]): void {
    if (lines.length === 0) return;
    this.#block.clear();
    this.#options.sink.write(lines.map((line) => `${line}\n`).join(""));
    this.#draw();
  }

  /** Null takes the lines away. `tasks` are what runs at the same time, each in a few words. */
  setActivity(activity: string | null, tasks: readonly string[] = []): void {
    const { clock, sink } = this.#options;
    const isSame = tasks.length === this.#tasks.size && tasks.every((one) => this.#tasks.has(one));
    if (activity === this.#activity && isSame) return;
    const now = clock.monotonic();
    if (activity !== this.#activity) this.#since = now;
    this.#tasks = new Map(tasks.map((task) => [task, this.#tasks.get(task) ?? now]));
    this.#activity = activity;
    this.#cancel();
    this.#block.clear();
    if (activity !== null && sink.isTerminal) this.#tick();
  }

  #tick(): void {
    this.#draw();
    this.#frame += 1;
    this.#cancel = this.#options.clock.after(frameMs, () => this.#tick());
  }

  #draw(): void {
    const { sink, style } = this.#options;
    if (this.#activity === null || !sink.isTerminal) return;
    const mark = frames[this.#frame % frames.length] ?? "";
    const width = Math.max(1, (sink.columns ?? 80) - 5);
    // How long the whole has taken is no news where its tasks say it of themselves.
    const time = this.#tasks.size === 0 ? this.#timeSince(this.#since) : "";
    const told = [...this.#tasks].slice(0, mostTasks).map(([task, since]) => {
      const ran = this.#timeSince(since);
      return `     ${style.dim(cutToWidth(task, Math.max(1, width - ran.length - 1)) + ran)}`;
    });
    const more = this.#tasks.size - told.length;
    this.#block.show([
      ` ${mark}  ${style.dim(cutToWidth(`${this.#activity}…${time}`, width))}`,
      ...told,
      ...(more === 0 ? [] : [`     ${style.dim(cutToWidth(`and ${more} more`, width))}`]),
    ]);
  }

  #timeSince(since: number): string {
    const elapsed = this.#options.clock.monotonic() - since;
    return elapsed < 1000 ? "" : ` ${Math.floor(elapsed / 1000)} s`;
  }
}

const eraseLine = "\r\u001B[2K";
const lineUp = "\u001B[1A";

/** Lines at the end of what a terminal shows that are replaced by others, or taken away. Each has to fit in one line there. */
export class LiveBlock {
  readonly #sink: Pick<Sink, "write">;
  /** Number of lines to erase. */
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
