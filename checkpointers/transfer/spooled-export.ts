import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { splitLines } from "../../src/storage/split-lines.ts";
import { DamagedValue } from "../elements/load-value.ts";
import { InvalidExportError } from "./errors.ts";
import { parseBounded } from "./imported-value.ts";
import { endLine, FORMAT_VERSION, headerLine, MAX_LINE, type HeaderLine } from "./lines.ts";

/** Bytes that are written at a time. */
const CHUNK = 2 ** 18;

/** An export that was received whole. */
export interface SpooledExport {
  readonly header: HeaderLine;
  /** Those between the first and the last, with their numbers. */
  content(): AsyncGenerator<{ readonly number: number; readonly text: string }>;
}

/**
 * Receives the lines of an export into a temporary file, checks its first and last line and the hash over all, and has it
 * used before the file is removed. The file is there so that nothing of the database is held while lines come in, be
 * it from a slow network or from the same embedded database, which has one session.
 *
 * @throws {InvalidExportError}
 */
export async function withSpooledExport<Result>(
  lines: AsyncIterable<string> | Iterable<string>,
  use: (spooled: SpooledExport) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), "stratagraph-import-"));
  const path = join(folder, "lines");
  try {
    const header = await receive(lines, path);
    return await use({ header, content: () => contentOf(path) });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function receive(
  lines: AsyncIterable<string> | Iterable<string>,
  path: string,
): Promise<HeaderLine> {
  const hash = createHash("sha256");
  let number = 0;
  let header: HeaderLine | undefined;
  let ended = false;
  let chunk = "";
  const file = await open(path, "wx", 0o600);
  try {
    for await (const given of lines) {
      number += 1;
      if (given.length > MAX_LINE) throw tooLong(number);
      const line = given.replace(/\r?\n$/, "");
      if (ended) {
        if (line === "") continue;
        throw new InvalidExportError(number, "there is more after the last line");
      }
      if (header === undefined) {
        header = readHeader(line);
      } else if (line.startsWith('{"end":')) {
        checkEnd(line, number, hash.digest("hex"));
        ended = true;
        continue;
      } else {
        chunk += `${line}\n`;
        if (chunk.length >= CHUNK) {
          await file.appendFile(chunk);
          chunk = "";
        }
      }
      hash.update(`${line}\n`);
    }
    await file.appendFile(chunk);
  } finally {
    await file.close();
  }
  if (header === undefined) throw new InvalidExportError(1, "there is nothing");
  if (!ended) throw new InvalidExportError(number + 1, "the last line is missing: it was cut off");
  return header;
}

/**
 * Splits what is read of an export into its lines.
 * @throws {InvalidExportError} at a line that is too long for one, of which no more is read
 */
export async function* exportLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  for await (const { number, bytes } of splitLines(untilTooLong(chunks), MAX_LINE)) {
    if (bytes === null) throw tooLong(number);
    yield bytes.toString("utf8");
  }
}

/** Ends within a line that is too long: it may have no end. */
async function* untilTooLong(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let length = 0;
  for await (const chunk of chunks) {
    const feed = chunk.lastIndexOf(LINE_FEED);
    length = feed === -1 ? length + chunk.length : chunk.length - feed - 1;
    yield chunk;
    if (length > MAX_LINE) return;
  }
}

const LINE_FEED = 0x0a;

function tooLong(line: number): InvalidExportError {
  const most = MAX_LINE.toLocaleString("en");
  return new InvalidExportError(line, `there are more than ${most} characters`);
}

function readHeader(line: string): HeaderLine {
  const json = parseLine(line, 1);
  const { format, version } = (json ?? {}) as { format?: unknown; version?: unknown };
  if (format !== "stratagraph-thread")
    throw new InvalidExportError(1, 'there is no header with the format "stratagraph-thread"');
  if (typeof version === "number" && version > FORMAT_VERSION) {
    throw new InvalidExportError(
      1,
      `the header has version ${version} of the format, and this version of Stratagraph reads up to ${FORMAT_VERSION}`,
    );
  }
  const header = headerLine.safeParse(json);
  if (!header.success)
    throw new InvalidExportError(1, "the header is not whole", { cause: header.error });
  return header.data;
}

function checkEnd(line: string, number: number, sha256: string): void {
  const parsed = endLine.safeParse(parseLine(line, number));
  if (!parsed.success)
    throw new InvalidExportError(number, "the end is not whole", { cause: parsed.error });
  const { end } = parsed.data;
  if (end.lines !== number - 1) {
    throw new InvalidExportError(
      number,
      `the end counts ${end.lines} lines before it, and there are ${number - 1}`,
    );
  }
  if (end.sha256 !== sha256)
    throw new InvalidExportError(
      number,
      "the end has another SHA-256 than the lines before it: they were changed",
    );
}

/** @throws {InvalidExportError} */
export function parseLine(line: string, number: number): unknown {
  try {
    return parseBounded(line);
  } catch (cause) {
    if (cause instanceof DamagedValue) throw new InvalidExportError(number, cause.message);
    throw new InvalidExportError(number, "there is no JSON", { cause });
  }
}

async function* contentOf(path: string): AsyncGenerator<{ number: number; text: string }> {
  const chunks = createReadStream(path) as AsyncIterable<Buffer>;
  for await (const { number, bytes } of splitLines(chunks, Number.POSITIVE_INFINITY)) {
    // The header is the first line, which is not in the file.
    yield { number: number + 1, text: bytes!.toString("utf8") };
  }
}
