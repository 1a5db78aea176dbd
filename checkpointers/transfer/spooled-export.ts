import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InvalidExportError } from "./errors.ts";
import { endLine, FORMAT_VERSION, headerLine, type HeaderLine } from "./lines.ts";

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
          await file.write(chunk);
          chunk = "";
        }
      }
      hash.update(`${line}\n`);
    }
    await file.write(chunk);
  } finally {
    await file.close();
  }
  if (header === undefined) throw new InvalidExportError(1, "there is nothing");
  if (!ended) throw new InvalidExportError(number + 1, "the last line is missing: it was cut off");
  return header;
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
    return JSON.parse(line);
  } catch (cause) {
    throw new InvalidExportError(number, "there is no JSON", { cause });
  }
}

async function* contentOf(path: string): AsyncGenerator<{ number: number; text: string }> {
  let number = 1;
  let rest = "";
  for await (const chunk of createReadStream(path, "utf8") as AsyncIterable<string>) {
    const texts = (rest + chunk).split("\n");
    rest = texts.pop()!;
    for (const text of texts) {
      number += 1;
      yield { number, text };
    }
  }
}
