import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { errorMessage } from "../../../src/errors.ts";
import { sqlStateOf } from "../../../src/storage/errors.ts";
import type { Queryable } from "../../../src/storage/pool.ts";
import { splitLines } from "../../../src/values/text.ts";
import { insertBlob, loadBlob } from "../../blobs.ts";
import { checkName } from "../../config.ts";
import { DamagedValue } from "../../elements/load-value.ts";
import { keepData } from "../../elements/revive.ts";
import { InvalidExportError, ThreadExistsError } from "../../errors.ts";
import { type SealedTables, transaction } from "../../tables.ts";
import {
  type AttachmentLine,
  contentLine,
  type ContentLine,
  endLine,
  FORMAT_VERSION,
  fromReadable,
  headerLine,
  type HeaderLine,
  MAX_LINE,
  parseBounded,
  valueInspector,
} from "./format.ts";
import { ThreadCopy } from "./thread-copy.ts";

export interface ImportDeps extends SealedTables {
  readonly serde: SerializerProtocol;
  /** Ids for new logs, asked for within a transaction. */
  readonly logIds: (client: Queryable) => { take(): Promise<number> };
}

export interface ImportOptions {
  /** Id of the thread to be made. Default: that of the thread that was exported. */
  readonly threadId?: string;
  /** Called with that id before anything is stored; refuses it by throwing. */
  readonly checkThreadId?: (threadId: string) => unknown;
}

/** Any number; keeps these locks apart from others that hash texts. */
const LOCK_SEED = 4_117_290_337;

/**
 * Makes a thread of the lines that `exportThread` gave, with line feeds or without. Everything is checked, and all of it
 * is stored or nothing. The lines are received into a temporary file first, whatever their size; the memory it takes is
 * a small part of that.
 *
 * @throws {InvalidExportError} when the lines were damaged, cut off, or come from a newer version
 * @throws {ThreadExistsError} when there is a thread of that id
 */
export async function importThread(
  parts: ImportDeps,
  lines: AsyncIterable<string> | Iterable<string>,
  options: ImportOptions = {},
): Promise<{ threadId: string; checkpoints: number }> {
  return withSpooledExport(lines, (spooled) => {
    const threadId = checkName("thread_id", options.threadId ?? spooled.header.threadId);
    options.checkThreadId?.(threadId);
    return transaction(parts.pool, async (client) => {
      await expectNoThread(client, parts.schema, threadId);
      const logIds = parts.logIds(client);
      const copy = new ThreadCopy({
        client,
        schema: parts.schema,
        cipher: parts.cipher,
        serde: keepData(parts.serde),
        from: spooled.header.threadId,
        to: threadId,
        newLogId: () => logIds.take(),
      });
      await addContent(spooled, copy, (line) =>
        addAttachment(line, { ...parts, client, threadId }),
      );
      return { threadId, checkpoints: copy.checkpoints };
    });
  });
}

/** Two imports under one id run one after the other. */
async function expectNoThread(client: Queryable, schema: string, threadId: string): Promise<void> {
  await client.query("select pg_advisory_xact_lock(hashtextextended($1, $2))", [
    `${schema} ${threadId}`,
    LOCK_SEED,
  ]);
  const { rows } = await client.query<{ taken: boolean }>(
    `select exists (select from ${schema}.checkpoints where thread_id = $1) as taken`,
    [threadId],
  );
  if (rows[0]!.taken) throw new ThreadExistsError(threadId);
}

/** @throws {DamagedValue} for bytes without their hash */
async function addAttachment(
  { value, ...row }: AttachmentLine,
  of: ImportDeps & { readonly client: Queryable; readonly threadId: string },
): Promise<void> {
  const { client, serde, threadId } = of;
  const body = fromReadable(value);
  valueInspector(keepData(serde))?.(row.type, body);
  await loadBlob({ ...row, body }, serde).catch((cause: unknown) => {
    throw new DamagedValue(`the attachment ${row.sha256} does not have that hash`, { cause });
  });
  await insertBlob(client, of, { ...row, body, threadId });
}

async function addContent(
  spooled: SpooledExport,
  copy: ThreadCopy,
  attach: (line: AttachmentLine) => Promise<void>,
): Promise<void> {
  let last = 1;
  try {
    for await (const { number, text } of spooled.content()) {
      last = number;
      const line = toContentLine(text, number);
      if ("attachment" in line) await attach(line.attachment);
      else await copy.add(line);
    }
    await copy.end();
  } catch (thrown) {
    throw invalidAt(last, thrown);
  }
  const { checkpoints } = spooled.header;
  if (copy.checkpoints === checkpoints) return;
  throw new InvalidExportError(
    last + 1,
    `the content ends with ${copy.checkpoints} checkpoints, and the header counts ${checkpoints}`,
  );
}

function toContentLine(text: string, number: number): ContentLine {
  const line = contentLine.safeParse(parseLine(text, number));
  if (line.success) return line.data;
  throw new InvalidExportError(number, "there is something that no export has", {
    cause: line.error,
  });
}

/** SQLSTATEs of values that a type or an index cannot hold. */
const UNSTORABLE = /^(?:22|54)/;

/** Rows are sent some lines later, so the line of one that the database refuses may be an earlier one. */
function invalidAt(line: number, thrown: unknown): unknown {
  if (thrown instanceof DamagedValue) {
    return new InvalidExportError(line, thrown.message, { cause: thrown });
  }
  if (!UNSTORABLE.test(sqlStateOf(thrown) ?? "")) return thrown;
  const reason = `or before it there is what the database cannot hold: ${errorMessage(thrown)}`;
  return new InvalidExportError(line, reason, { cause: thrown });
}

/** Bytes that are written at a time. */
const CHUNK = 2 ** 18;

/** An export that was received whole. */
interface SpooledExport {
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
async function withSpooledExport<Result>(
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
function parseLine(line: string, number: number): unknown {
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
