import { type Queryable, quoteIdentifier } from "../../src/storage/pool.ts";
import type { EncodedUnit, LogTail, NewElement, Segment } from "../elements/sequence.ts";
import type { DumpedValue, StorePort } from "../elements/store-value.ts";
import { pgArray, pgTextArray } from "../queries.ts";

/** What storing values needs of the saver. */
export interface ElementBatchPort {
  dump(value: unknown): DumpedValue | Promise<DumpedValue>;
  freeze(item: object): boolean;
  newTail(): Promise<LogTail>;
}

/** What one checkpoint adds to the logs. */
export class ElementBatch implements StorePort {
  readonly elements: NewElement[] = [];
  readonly #tails = new Set<LogTail>();

  constructor(
    private readonly port: ElementBatchPort,
    /** The log of single values that the thread's last checkpoint had. */
    public scalarLog: LogTail | null,
  ) {}

  dump(value: unknown): DumpedValue | Promise<DumpedValue> {
    return this.port.dump(value);
  }

  freeze(item: object): boolean {
    return this.port.freeze(item);
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

  async openScalarLog(): Promise<LogTail> {
    this.scalarLog = await this.openTail(this.scalarLog);
    return this.scalarLog;
  }

  /**
   * Another process wrote to these positions: none of the logs may be continued.
   * @param tails those that this process remembers; older ones are known to values alone
   */
  closeLogs(tails: Iterable<LogTail>): void {
    const logs = new Set(this.elements.map(({ log }) => log));
    for (const tail of [...this.#tails, ...tails]) if (logs.has(tail.log)) tail.closed = true;
  }
}

/** New elements as the statement takes them: a column each, and all bytes in one piece. */
export function elementColumns(elements: readonly NewElement[]): unknown[] {
  let start = 1; // Postgres counts bytes from one.
  const starts = elements.map(({ blob }) => {
    start += blob.byteLength;
    return start - blob.byteLength;
  });
  return [
    pgArray(elements.map(({ log }) => log)),
    pgArray(elements.map(({ idx }) => idx)),
    pgArray(starts),
    pgArray(elements.map(({ blob }) => blob.byteLength)),
    pgTextArray(elements.map(({ type }) => type)),
    Buffer.concat(elements.map(({ blob }) => blob)),
  ];
}

/** As in the migration that makes the sequence. */
const BLOCK = 64;

/** Ids of logs, unique in the database: the sequence gives 64 at a time, so that hardly any put has to ask for one. */
export class LogIds {
  #next = 0;
  #end = 0;
  #asked: Promise<void> | undefined;
  readonly #statement: string;

  constructor(
    private readonly database: Queryable,
    schema: string,
  ) {
    const sequence = `${quoteIdentifier(schema)}.checkpoint_log_ids`;
    this.#statement = `select nextval('${sequence.replaceAll("'", "''")}') as first`;
  }

  async take(): Promise<number> {
    while (this.#next === this.#end) {
      this.#asked ??= this.#ask().finally(() => (this.#asked = undefined));
      await this.#asked;
    }
    this.#next += 1;
    return this.#next - 1;
  }

  async #ask(): Promise<void> {
    const { rows } = await this.database.query<{ first: string }>(this.#statement);
    this.#next = Number(rows[0]!.first);
    this.#end = this.#next + BLOCK;
  }
}

/** A log's end that was forgotten costs one attempt to write, and a new log. */
const REMEMBERED = 10_000;

/** The ends of the logs that this process appends to. */
export class LogPositions {
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
   * checkpoint; if another process does the same, the second writer finds the position taken.
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
