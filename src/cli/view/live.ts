import type { Clock } from "../../clock.ts";
import type { Sink } from "../io.ts";
import { cutToWidth, plainText, type Style, textWidth } from "./terminal.ts";

const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const frameMs = 120;
/** Lines below the one that says what is going on: a terminal has more. */
const mostTasks = 8;
/** Rows of a terminal that does not know its height. */
const usualRows = 24;
const leastTextRows = 3;

/** What is going on, in a few words. */
export type Activity = string | (() => string);

export interface LiveWriterOptions {
  readonly sink: Sink;
  readonly style: Style;
  readonly clock: Clock;
}

/**
 * Prints lines. On a terminal it also keeps live lines below them: a text that is being written, a line that says what is
 * going on, and one for each of its tasks. Live lines are erased before anything else is printed, and at the end.
 * Elsewhere only the printed lines come out.
 */
export class LiveWriter {
  readonly #options: LiveWriterOptions;
  #activity: Activity | null = null;
  /** What the activity said last, and since when. */
  #said = "";
  #since = 0;
  #text: readonly string[] = [];
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

  /**
   * Null takes all live lines away, the text included. A function is read again with every frame. `tasks` run
   * concurrently, each in a few words.
   */
  setActivity(activity: Activity | null, tasks: readonly string[] = []): void {
    const { clock, sink } = this.#options;
    const isSame = tasks.length === this.#tasks.size && tasks.every((one) => this.#tasks.has(one));
    const isSaid = activity === this.#activity && (activity === null || this.#hasSaid(activity));
    if (isSaid && isSame) return;
    const now = clock.monotonic();
    this.#tasks = new Map(tasks.map((task) => [task, this.#tasks.get(task) ?? now]));
    if (this.#activity === null) this.#said = "";
    this.#activity = activity;
    if (activity === null) this.#text = [];
    this.#cancel();
    if (activity === null) this.#block.clear();
    else if (sink.isTerminal) this.#tick();
  }

  /** Sets the live text: each line may be coloured, and is cut to the terminal. Shown while there is an activity. */
  setText(lines: readonly string[]): void {
    if (lines.length === 0 && this.#text.length === 0) return;
    this.#text = lines;
    this.#draw();
  }

  /** Lines of text that the terminal has room for. */
  get textRoom(): number {
    const rows = this.#options.sink.rows ?? usualRows;
    const below = 2 + Math.min(this.#tasks.size, mostTasks + 1);
    return Math.max(leastTextRows, rows - 1 - below);
  }

  #hasSaid(activity: Activity): boolean {
    return typeof activity === "string" || activity() === this.#said;
  }

  #tick(): void {
    this.#draw();
    this.#frame += 1;
    this.#cancel = this.#options.clock.after(frameMs, () => this.#tick());
  }

  #draw(): void {
    const { sink, style } = this.#options;
    const activity = this.#activity;
    if (activity === null || !sink.isTerminal) return;
    const said = typeof activity === "string" ? activity : activity();
    if (said !== this.#said) this.#since = this.#options.clock.monotonic();
    this.#said = said;
    const mark = frames[this.#frame % frames.length] ?? "";
    const columns = sink.columns ?? 80;
    const width = Math.max(1, columns - 5);
    // How long the whole has taken is no news where its tasks say it of themselves.
    const time = this.#tasks.size === 0 ? this.#timeSince(this.#since) : "";
    const told = [...this.#tasks].slice(0, mostTasks).map(([task, since]) => {
      const ran = this.#timeSince(since);
      return `     ${style.dim(cutToWidth(task, Math.max(1, width - ran.length - 1)) + ran)}`;
    });
    const more = this.#tasks.size - told.length;
    const text = this.#text.slice(-this.textRoom).map((line) => fitted(line, columns - 1));
    this.#block.show([
      ...text,
      ` ${mark}  ${style.dim(cutToWidth(`${said}…${time}`, width))}`,
      ...told,
      ...(more === 0 ? [] : [`     ${style.dim(cutToWidth(`and ${more} more`, width))}`]),
    ]);
  }

  #timeSince(since: number): string {
    const elapsed = this.#options.clock.monotonic() - since;
    return elapsed < 1000 ? "" : ` ${Math.floor(elapsed / 1000)} s`;
  }
}

/** A line that is too wide loses its end, and its colours. */
function fitted(line: string, width: number): string {
  if (line.length <= width) return line;
  const plain = plainText(line);
  return textWidth(plain) <= width ? line : cutToWidth(plain, width);
}

const eraseLine = "\r\u001B[2K";
const lineUp = "\u001B[1A";

/**
 * Lines at the end of what a terminal shows that are replaced by others, or taken away. Each must fit in one line there.
 * Lines that stay the same above the first change are not written again.
 */
export class LiveBlock {
  readonly #sink: Pick<Sink, "write">;
  /** The lines to erase. */
  #shown: readonly string[] = [];

  constructor(sink: Pick<Sink, "write">) {
    this.#sink = sink;
  }

  /** @param lines at least one */
  show(lines: readonly string[]): void {
    const shown = this.#shown;
    const most = Math.min(shown.length, lines.length) - 1;
    let same = 0;
    while (same < most && shown[same] === lines[same]) same += 1;
    if (shown.length === lines.length && shown[same] === lines[same]) return;
    const erasing = erase(shown.length - same);
    this.#sink.write(`${erasing}${eraseLine}${lines.slice(same).join("\n")}`);
    this.#shown = lines;
  }

  clear(): void {
    if (this.#shown.length > 0) this.#sink.write(`${erase(this.#shown.length)}${eraseLine}`);
    this.#shown = [];
  }
}

/** Erases all of the last lines but the first one of them. */
function erase(lines: number): string {
  return `${eraseLine}${lineUp}`.repeat(Math.max(0, lines - 1));
}
