import type { LogTail, Segment } from "./elements/log.ts";

/** A log's end that was forgotten costs one attempt to write, and a new log. */
const REMEMBERED = 10_000;

/** The ends of the logs that this process appends to. */
export class LogTails {
  readonly #tails = new Map<number, LogTail>();

  begin(log: number): LogTail {
    const tail = { log, next: 0, closed: false };
    this.#tails.set(log, tail);
    const [oldest] = this.#tails.keys();
    if (this.#tails.size > REMEMBERED) this.#tails.delete(oldest!);
    return tail;
  }

  /**
   * Where a sequence that ends with `last` may go on. A log of another process may be continued from a thread's newest
   * checkpoint; should somebody else do so too, the second to write finds the place taken.
   */
  after(last: Segment, newest: boolean): LogTail | null {
    const known = this.#tails.get(last.log);
    if (known !== undefined) {
      known.next = Math.max(known.next, last.to);
      return known;
    }
    if (!newest) return null;
    const tail = this.begin(last.log);
    tail.next = last.to;
    return tail;
  }

  all(): Iterable<LogTail> {
    return this.#tails.values();
  }
}
