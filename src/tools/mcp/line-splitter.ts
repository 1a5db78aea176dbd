const newline = 0x0a;

/** Bytes that are kept of both ends of a line that is too long. */
const keptBytes = 512;

export interface LineReader {
  onLine(line: string): void;
  /** A line over the limit, of which only its first and last bytes are known. */
  onLongLine(head: string, tail: string): void;
}

/**
 * Splits a stream of bytes into lines without ever holding more than `maxBytes` of one. Each byte is copied once,
 * however many chunks a line comes in.
 */
export class LineSplitter {
  readonly #reader: LineReader;
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #length = 0;
  /** Set while a line that is too long goes by. */
  #skipped: { readonly head: Buffer; tail: Buffer } | undefined;

  constructor(maxBytes: number, reader: LineReader) {
    this.#maxBytes = maxBytes;
    this.#reader = reader;
  }

  push(chunk: Buffer): void {
    let from = 0;
    for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, from)) {
      this.#extend(chunk.subarray(from, at));
      this.#end();
      from = at + 1;
    }
    this.#extend(chunk.subarray(from));
  }

  #extend(part: Buffer): void {
    if (part.length === 0) return;
    if (this.#skipped !== undefined) {
      this.#skipped.tail = lastOf(Buffer.concat([this.#skipped.tail, lastOf(part)]));
      return;
    }
    this.#chunks.push(part);
    this.#length += part.length;
    if (this.#length <= this.#maxBytes) return;
    const line = Buffer.concat(this.#chunks);
    this.#skipped = { head: Buffer.from(line.subarray(0, keptBytes)), tail: lastOf(line) };
    this.#chunks = [];
    this.#length = 0;
  }

  #end(): void {
    if (this.#skipped !== undefined) {
      const { head, tail } = this.#skipped;
      this.#skipped = undefined;
      this.#reader.onLongLine(head.toString("utf8"), tail.toString("utf8"));
      return;
    }
    const line = Buffer.concat(this.#chunks).toString("utf8");
    this.#chunks = [];
    this.#length = 0;
    this.#reader.onLine(line.endsWith("\r") ? line.slice(0, -1) : line);
  }
}

/** A copy, so that the chunk it was part of can be given back. */
function lastOf(bytes: Buffer): Buffer {
  return Buffer.from(bytes.subarray(Math.max(0, bytes.length - keptBytes)));
}
