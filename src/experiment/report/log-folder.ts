import { createHash } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, opendir, realpath } from "node:fs/promises";
import { basename, join } from "node:path";
import type { Page } from "../../storage/platform/checks.ts";
import { InvalidCursorError, NotFoundError } from "../../storage/platform/errors.ts";
import { RecentMap } from "../../values/recent-map.ts";
import { truncateText } from "../../values/text.ts";
import { logExtension, runIdOf } from "../log/log-checker.ts";
import type { LogEntry } from "../log/log-entry.ts";
import { readLog, UnreadableLogError } from "../log/read-log.ts";
import { readRun } from "./read-runs.ts";
import { type ReportLeftOut, reportLeftOut, type ReportRun, reportRun } from "./report-data.ts";
import { experimentName } from "./run-summary.ts";

const mebibyte = 1024 * 1024;

/** What reading a folder costs at most. */
const logFolderLimits = {
  /** Levels below the folder that are looked into. */
  depth: 4,
  /** Names that are looked at, in all folders together. */
  names: 20_000,
  /** Bytes of a log, and of one of its lines. */
  logBytes: 256 * mebibyte,
  lineBytes: 16 * mebibyte,
  /** Cycles of a run. */
  cycles: 10_000,
  reflectionCharacters: 2000,
  /** UTF-16 units of JSON after which a page ends, and of summaries in memory. */
  pageCharacters: 4 * mebibyte,
  cacheCharacters: 64 * mebibyte,
  /** UTF-16 units of a text of a cycle. */
  textCharacters: 100_000,
} as const;

/** Logs of one folder below the folder that is served. */
export interface FolderExperiment {
  readonly id: string;
  /** What the ids of its runs begin with; the folder's name where they differ. */
  readonly title: string;
  /** Path from the folder that is served, with `/`; `.` for that folder. */
  readonly folder: string;
  readonly logs: number;
  readonly bytes: number;
  /** ISO 8601, UTC: when one of its logs was last written. */
  readonly updated_at: string;
}

export interface FolderPage {
  readonly experiment: FolderExperiment;
  readonly runs: readonly ReportRun[];
  readonly leftOut: readonly ReportLeftOut[];
  readonly next: string | null;
}

interface Found {
  readonly path: string;
  readonly shown: FolderExperiment;
  /** Names of files in order. */
  readonly files: readonly string[];
}

/** What became of one log: a run, or why there is none. */
type ReadLogFile = { readonly run: ReportRun } | { readonly leftOut: ReportLeftOut };

interface PageWish {
  readonly limit: number;
  readonly cursor?: string;
  readonly signal?: AbortSignal;
}

/**
 * The experiments whose logs are in a folder or below it. An id is a hash: it is looked up among what the folder has, and
 * is never part of a path. Symbolic links are not followed. One log is read at a time.
 */
export class LogFolder {
  readonly #summaries = new RecentMap<string, { readonly stamp: string; readonly json: string }>(
    10_000,
    logFolderLimits.cacheCharacters,
  );
  #reading: Promise<unknown> = Promise.resolve();

  /** @param folder path; it need not be there */
  constructor(private readonly folder: string) {}

  /** The experiments, the last written first. @throws InvalidCursorError */
  async list({ limit, cursor }: PageWish): Promise<Page<FolderExperiment>> {
    const all = (await this.#find()).map(({ shown }) => shown);
    const from = cursor === undefined ? 0 : all.findIndex(({ id }) => id === cursor) + 1;
    if (cursor !== undefined && from === 0) throw new InvalidCursorError();
    const items = all.slice(from, from + limit);
    const more = from + limit < all.length;
    return { items, next: more ? (items.at(-1)?.id ?? null) : null };
  }

  /**
   * Reads the logs of an experiment, by their names, until the page is full.
   * @throws NotFoundError, InvalidCursorError
   */
  async read(id: string, { limit, cursor, signal }: PageWish): Promise<FolderPage> {
    const found = await this.#experiment(id);
    const after = cursor === undefined ? "" : fileOfCursor(cursor);
    const files = found.files.filter((file) => file > after);
    const runs: ReportRun[] = [];
    const leftOut: ReportLeftOut[] = [];
    let taken = 0;
    for (let size = 0; taken < Math.min(limit, files.length); taken += 1) {
      if (size >= logFolderLimits.pageCharacters) break;
      const json = await this.#summary(found, files[taken]!, signal);
      const read = JSON.parse(json) as ReadLogFile;
      if ("run" in read) runs.push(read.run);
      else leftOut.push(read.leftOut);
      size += json.length;
    }
    const next = taken < files.length ? cursorOfFile(files[taken - 1]!) : null;
    return { experiment: found.shown, runs, leftOut, next };
  }

  /**
   * Reads the entries of one cycle of a run from the log. Long texts are truncated.
   *
   * @param given.cursor number of the line after which the page begins
   * @throws NotFoundError, InvalidCursorError
   */
  async cycle(
    id: string,
    { runId, cycle, limit, cursor, signal }: PageWish & { runId: string; cycle: number },
  ): Promise<Page<LogEntry>> {
    const found = await this.#experiment(id);
    const file = found.files.find((name) => runIdOf(name) === runId);
    if (file === undefined) throw new NotFoundError("run", runId);
    if (cursor !== undefined && !/^\d{1,9}$/.test(cursor)) throw new InvalidCursorError();
    const after = Number(cursor ?? 0);
    const items: LogEntry[] = [];
    let size = 0;
    let last = 0;
    let next: string | null = null;
    const within = `"cycle_number":${cycle},`;
    const hasCycle = await this.#withLog(found, file, async (handle) => {
      const lines = readLog(join(found.path, file), {
        chunks: handle.createReadStream({ autoClose: false }) as AsyncIterable<Buffer>,
        longest: logFolderLimits.lineBytes,
        // The number of the cycle is among the first keys of a line.
        wants: (bytes) => bytes.subarray(0, 1024).includes(within),
      });
      let isThere = false;
      for await (const line of lines) {
        signal?.throwIfAborted();
        if (line.kind !== "entry" || line.entry.cycle_number !== cycle) continue;
        isThere = true;
        if (line.line <= after) continue;
        if (items.length === limit || size >= logFolderLimits.pageCharacters) {
          next = String(last);
          break;
        }
        const entry = bounded(line.entry);
        size += JSON.stringify(entry).length;
        items.push(entry);
        last = line.line;
        if (entry.event_type === "CYCLE_END") break;
      }
      return isThere;
    });
    if (hasCycle !== true) throw new NotFoundError("cycle", String(cycle));
    return { items, next };
  }

  async #experiment(id: string): Promise<Found> {
    const found = (await this.#find()).find(({ shown }) => shown.id === id);
    if (found === undefined) throw new NotFoundError("experiment", id);
    return found;
  }

  async #find(): Promise<readonly Found[]> {
    const root = await realpath(this.folder).catch(() => null);
    if (root === null) return [];
    const found: Found[] = [];
    const left: { readonly path: string; readonly parts: readonly string[] }[] = [
      { path: root, parts: [] },
    ];
    let names = 0;
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const { path, parts } = next;
      const files: string[] = [];
      // A folder may be gone by now, or may not be readable.
      const entries = await opendir(path).catch(() => null);
      for await (const entry of entries ?? []) {
        names += 1;
        if (names > logFolderLimits.names) break;
        const { name } = entry;
        if (entry.isFile() && logName.test(name)) files.push(name);
        const isOpened = entry.isDirectory() && !name.startsWith(".") && name !== "node_modules";
        if (isOpened && parts.length < logFolderLimits.depth)
          left.push({ path: join(path, name), parts: [...parts, name] });
      }
      const shown = await describeLogs(path, parts, files.toSorted(byName));
      if (shown !== null) found.push({ path, shown, files: files.toSorted(byName) });
    }
    return found.toSorted(
      (a, b) =>
        byName(b.shown.updated_at, a.shown.updated_at) || byName(a.shown.folder, b.shown.folder),
    );
  }

  async #summary(found: Found, file: string, signal: AbortSignal | undefined): Promise<string> {
    const path = join(found.path, file);
    const leftOut = (reason: ReportLeftOut["reason"]): string =>
      JSON.stringify({ leftOut: { file, reason, problem_count: 0, first_problem: null } });
    const read = async (handle: FileHandle): Promise<string> => {
      const { size, mtimeMs, ino } = await handle.stat();
      const stamp = `${ino} ${size} ${mtimeMs}`;
      const known = this.#summaries.get(path);
      if (known?.stamp === stamp) return known.json;
      if (size > logFolderLimits.logBytes) return leftOut("too_large");
      if (size === 0) return leftOut("empty");
      const summary = await readRun(path, {
        // What is appended meanwhile is read the next time.
        chunks: abortable(handle.createReadStream({ autoClose: false, end: size - 1 }), signal),
        longest: logFolderLimits.lineBytes,
        limits: logFolderLimits,
      });
      const json = JSON.stringify(
        "reason" in summary
          ? { leftOut: { ...reportLeftOut(summary), file } }
          : { run: reportRun(summary) },
      );
      this.#summaries.set(path, { stamp, json }, json.length);
      return json;
    };
    const json = await this.#withLog(found, file, read).catch((thrown: unknown) => {
      signal?.throwIfAborted();
      // Values that are nested too deeply to be compared overflow the stack.
      if (thrown instanceof UnreadableLogError || thrown instanceof RangeError) return null;
      throw thrown;
    });
    return json ?? leftOut("unreadable");
  }

  /** Opens a log once no other is read. Null for what is no file of the folder any more. */
  async #withLog<Result>(
    { path }: Found,
    file: string,
    use: (handle: FileHandle) => Promise<Result>,
  ): Promise<Result | null> {
    const read = async () => {
      // A folder on the way may have become a link since it was found.
      if ((await realpath(path).catch(() => null)) !== path) return null;
      const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
      const handle = await open(join(path, file), flags).catch(() => null);
      try {
        return handle !== null && (await handle.stat()).isFile() ? await use(handle) : null;
      } finally {
        await handle?.close();
      }
    };
    const result = this.#reading.then(read);
    this.#reading = result.catch(() => {});
    return result;
  }
}

/** What logs are called: the id of a run. */
const logName = /^[A-Za-z0-9._-]{1,128}\.jsonl$/;
/** Logs of a folder that are looked at to find that it is one of experiments, and bytes of each. */
const sniffed = { logs: 20, bytes: 1024 };

function byName(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** Null for a folder without a log of an experiment. Other files may have the same extension. */
async function describeLogs(
  path: string,
  parts: readonly string[],
  files: readonly string[],
): Promise<FolderExperiment | null> {
  let isExperiment = false;
  let bytes = 0;
  let updatedMs = 0;
  for (const [index, file] of files.entries()) {
    const handle = await open(join(path, file), constants.O_RDONLY | constants.O_NOFOLLOW).catch(
      () => null,
    );
    try {
      const stats = await handle?.stat();
      if (handle === null || stats?.isFile() !== true) continue;
      bytes += stats.size;
      updatedMs = Math.max(updatedMs, stats.mtimeMs);
      if (isExperiment || index >= sniffed.logs) continue;
      const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(sniffed.bytes) });
      isExperiment = buffer.subarray(0, bytesRead).includes('"event_type":"CYCLE_START"');
    } finally {
      await handle?.close();
    }
  }
  if (!isExperiment) return null;
  const folder = parts.join("/") || ".";
  const runs = files.map((file) => ({ run_id: runIdOf(file) }));
  return {
    id: createHash("sha256").update(folder).digest("base64url").slice(0, 22),
    title: experimentName({ folder: parts.at(-1) ?? basename(path), runs }),
    folder,
    logs: files.length,
    bytes,
    updated_at: new Date(updatedMs).toISOString(),
  };
}

async function* abortable(
  chunks: AsyncIterable<Buffer>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    signal?.throwIfAborted();
    yield chunk;
  }
}

function cursorOfFile(file: string): string {
  return Buffer.from(runIdOf(file)).toString("base64url");
}

function fileOfCursor(cursor: string): string {
  const file = `${Buffer.from(cursor, "base64url").toString()}${logExtension}`;
  if (!logName.test(file) || cursorOfFile(file) !== cursor) throw new InvalidCursorError();
  return file;
}

/** Levels of nesting of a value in an entry. */
const mostLevels = 100;

/** Copies a value of JSON with long texts truncated, and with what is nested too deeply replaced. */
function bounded<Value>(value: Value, levels = mostLevels): Value {
  const copy = (given: unknown): unknown => {
    if (typeof given === "string") return truncateText(given, logFolderLimits.textCharacters);
    if (typeof given !== "object" || given === null) return given;
    if (levels === 0) return "[too deep]";
    if (Array.isArray(given)) return given.map((item) => bounded<unknown>(item, levels - 1));
    return Object.fromEntries(
      Object.entries(given).map(([key, item]) => [key, bounded<unknown>(item, levels - 1)]),
    );
  };
  return copy(value) as Value;
}
