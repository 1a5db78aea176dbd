import type { LogTail, NewElement } from "./elements/log.ts";
import type { Dumped, StorePort } from "./elements/store-value.ts";
import type { EncodedUnit } from "./elements/sequence.ts";

/** What storing values needs of the saver. */
export interface DraftPort {
  dump(value: unknown): Dumped | Promise<Dumped>;
  fix(item: object): boolean;
  newTail(): Promise<LogTail>;
}

/** What one checkpoint adds to the logs. */
export class Draft implements StorePort {
  readonly elements: NewElement[] = [];
  readonly #tails = new Set<LogTail>();

  constructor(
    private readonly port: DraftPort,
    /** The log of single values that the thread's last checkpoint had. */
    public heap: LogTail | null,
  ) {}

  dump(value: unknown): Dumped | Promise<Dumped> {
    return this.port.dump(value);
  }

  fix(item: object): boolean {
    return this.port.fix(item);
  }

  append(tail: LogTail, { type, blob }: EncodedUnit): void {
    this.#tails.add(tail);
    this.elements.push({ log: tail.log, idx: tail.next, type, blob });
    tail.next += 1;
  }

  async openTail(tail: LogTail | null): Promise<LogTail> {
    if (tail !== null && !tail.closed) return tail;
    return this.port.newTail();
  }

  async openHeap(): Promise<LogTail> {
    this.heap = await this.openTail(this.heap);
    return this.heap;
  }

  /**
   * Somebody else wrote where these elements were to go: none of their logs is to be continued.
   * @param tails those that this process remembers; older ones are known to values alone
   */
  closeLogs(tails: Iterable<LogTail>): void {
    const logs = new Set(this.elements.map(({ log }) => log));
    for (const tail of [...this.#tails, ...tails]) if (logs.has(tail.log)) tail.closed = true;
  }
}
