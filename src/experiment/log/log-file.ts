import { createHash } from "node:crypto";
import { mkdir, open, type FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { LogChangedError, LogExistsError, LogAccessError } from "../errors.ts";
import type { LogEntry } from "./log-entry.ts";

/** How much of a log a checkpoint knows. What comes after it was written by a process that ended before its checkpoint. */
export interface LogPosition {
  readonly lines: number;
  readonly bytes: number;
  /** SHA-256 over the digest before and the last line, hexadecimal; of no lines the empty text. */
  readonly digest: string;
  /** Of the last line; the empty text where there is none. */
  readonly timestamp: string;
}

export const emptyLog: LogPosition = Object.freeze({
  lines: 0,
  bytes: 0,
  digest: "",
  timestamp: "",
});

/** A line before it is written: the log adds when. */
export type LogRecord = LogEntry extends infer Entry
  ? Entry extends LogEntry
    ? Omit<Entry, "timestamp" | "run_id">
    : never
  : never;

/**
 * The JSONL log of one run. A line is handed to the operating system by one write, and is on the disk before the next
 * thing happens. A process killed during that write leaves at most half a line, without a line feed; the process that resumes
 * on from the run's checkpoint takes it away with all that comes after the checkpoint.
 */
export class LogFile {
  readonly path: string;
  readonly #runId: string;
  readonly #now: () => Date;
  /** What is in the file, as far as this object has read or written it. */
  #known: LogPosition | undefined;

  constructor(of: { readonly path: string; readonly runId: string; readonly now: () => Date }) {
    this.path = of.path;
    this.#runId = of.runId;
    this.#now = of.now;
  }

  /** @throws LogExistsError where it has something in it; LogAccessError */
  async expectNone(): Promise<void> {
    const handle = await this.#access(() => open(this.path, "r").catch(missing));
    if (handle === null) return;
    try {
      const { size } = await handle.stat();
      if (size > 0) throw new LogExistsError(this.#runId, this.path);
    } finally {
      await handle.close();
    }
  }

  /**
   * Checks that the log contains what a checkpoint knows; further lines do not matter.
   * @throws LogChangedError, LogAccessError
   */
  async expect(position: LogPosition): Promise<void> {
    if (position.lines === 0) return;
    const handle = await this.#access(() => open(this.path, "r").catch(missing));
    if (handle === null) throw this.#shorter(position, 0);
    try {
      await this.#access(() => this.#verify(handle, position));
    } finally {
      await handle.close();
    }
  }

  /**
   * Writes a line after what a checkpoint knows, and takes away what else is there. The file is open for so long only: a
   * server may have begun many runs that are never resumed.
   * @returns what the next checkpoint is to know
   * @throws LogChangedError, LogAccessError
   */
  async append(after: LogPosition, record: LogRecord): Promise<LogPosition> {
    return this.#access(async () => {
      const handle = await this.#open(after);
      try {
        const { size } = await this.#verify(handle, after);
        if (size > after.bytes) await handle.truncate(after.bytes);
        const now = this.#now().toISOString();
        // Clocks are put back at times; the lines of a log are in order.
        const timestamp = now < after.timestamp ? after.timestamp : now;
        const { cycle_number, event_type, payload } = record;
        const entry = { timestamp, run_id: this.#runId, cycle_number, event_type, payload };
        const line = `${JSON.stringify(entry)}\n`;
        const bytes = Buffer.from(line);
        this.#known = undefined;
        await writeWhole(handle, bytes, after.bytes);
        await handle.datasync();
        this.#known = {
          lines: after.lines + 1,
          bytes: after.bytes + bytes.length,
          digest: digestOf(after.digest, line),
          timestamp,
        };
        return this.#known;
      } finally {
        await handle.close();
      }
    });
  }

  /** Makes the file where a run has not written to it yet, for its owner alone. One that is there keeps its mode. */
  async #open(position: LogPosition): Promise<FileHandle> {
    if (position.lines > 0) {
      const written = await open(this.path, "r+").catch(missing);
      if (written === null) throw this.#shorter(position, 0);
      return written;
    }
    await mkdir(dirname(this.path), { recursive: true });
    const existing = await open(this.path, "r+").catch(missing);
    if (existing !== null) return existing;
    const made = await open(this.path, "wx+", 0o600);
    await syncFolder(dirname(this.path));
    return made;
  }

  /** Reads what the checkpoint knows once more, unless this object has seen it. */
  async #verify(handle: FileHandle, position: LogPosition): Promise<{ readonly size: number }> {
    const { size } = await handle.stat();
    if (size < position.bytes) throw this.#shorter(position, size);
    if (position.lines === 0 || this.#known?.digest === position.digest) return { size };
    let digest = "";
    let lines = 0;
    const stream = handle.createReadStream({
      start: 0,
      end: position.bytes - 1,
      autoClose: false,
      encoding: "utf8",
    });
    let rest = "";
    for await (const chunk of stream as AsyncIterable<string>) {
      const parts = (rest + chunk).split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) digest = digestOf(digest, `${part}\n`);
      lines += parts.length;
    }
    if (lines !== position.lines || rest !== "" || digest !== position.digest) {
      throw new LogChangedError(
        this.#runId,
        this.path,
        `is not what the run has written: something in its first ${position.lines.toLocaleString("en")} lines differs`,
      );
    }
    this.#known = position;
    return { size };
  }

  /** Says of which log something went wrong. */
  async #access<T>(use: () => Promise<T>): Promise<T> {
    try {
      return await use();
    } catch (thrown) {
      if (thrown instanceof LogChangedError) throw thrown;
      throw new LogAccessError(this.#runId, this.path, { cause: thrown as NodeJS.ErrnoException });
    }
  }

  #shorter({ bytes, lines }: LogPosition, size: number): LogChangedError {
    return new LogChangedError(
      this.#runId,
      this.path,
      `has ${size.toLocaleString("en")} bytes, expected ${bytes.toLocaleString("en")} or more (lines written: ${lines.toLocaleString("en")})`,
    );
  }
}

function digestOf(before: string, line: string): string {
  return createHash("sha256").update(before).update(line).digest("hex");
}

/** A regular file takes it all at once, unless the disk is full. */
async function writeWhole(handle: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done);
    done += bytesWritten;
  }
}

/** So that the name of a new file outlives a loss of power; where folders cannot be opened it goes without. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r").catch(() => null);
  if (handle === null) return;
  await handle.sync().catch(() => undefined);
  await handle.close();
}

function missing(thrown: NodeJS.ErrnoException): null {
  if (thrown.code === "ENOENT") return null;
  throw thrown;
}
