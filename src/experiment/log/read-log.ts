import { createReadStream } from "node:fs";
import { describeProblem } from "../../definition/check/problems.ts";
import { schemaProblems } from "../../definition/check/schema-problems.ts";
import { errorMessage, StratagraphError } from "../../errors.ts";
import { type FileLine, splitLines } from "../../values/text.ts";
import { type LogEntry, logEntrySchema } from "./log-entry.ts";

/** What one line of a log holds. Lines are numbered from 1. */
export type LogLine =
  | { readonly kind: "entry"; readonly line: number; readonly entry: LogEntry }
  /** It is no entry. Each problem is a sentence without its full stop. */
  | { readonly kind: "broken"; readonly line: number; readonly problems: readonly string[] }
  /** Half a line at the end, of a process killed while it wrote; the resumed run writes it again. */
  | { readonly kind: "unfinished"; readonly line: number };

/** Bytes of a line; a text of this size can still be made in memory. */
const longestLine = 256 * 1024 * 1024;

export interface LogSource {
  /** The bytes of the log. Default: those of its file. */
  readonly chunks?: AsyncIterable<Buffer>;
  /** Bytes of a line that is read. Default 256 MiB. */
  readonly longest?: number;
  /** Returns false for lines that are passed over, before they are parsed. Default: none are. */
  readonly wants?: (line: Buffer) => boolean;
}

/**
 * Reads a log line by line, holding one line at a time, however large the file.
 * @throws UnreadableLogError
 */
export async function* readLog(
  path: string,
  { chunks = createReadStream(path), longest = longestLine, wants = () => true }: LogSource = {},
): AsyncGenerator<LogLine> {
  try {
    for await (const line of splitLines(chunks, longest))
      if (line.bytes === null || wants(line.bytes)) yield logLine(line, longest);
  } catch (cause) {
    throw new UnreadableLogError(path, { cause });
  }
}

function logLine({ number: line, bytes, ended }: FileLine, longest: number): LogLine {
  if (!ended) return { kind: "unfinished", line };
  const broken = (...problems: string[]): LogLine => ({ kind: "broken", line, problems });
  if (bytes === null) {
    return broken(`longer than ${longest / (1024 * 1024)} MiB`);
  }
  if (bytes.length === 0) return broken("an empty line");
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(bytes));
  } catch (thrown) {
    return broken(
      thrown instanceof SyntaxError ? "not JSON" : `not UTF-8 (${errorMessage(thrown)})`,
    );
  }
  const parsed = logEntrySchema.safeParse(value);
  if (parsed.success) return { kind: "entry", line, entry: parsed.data };
  return broken(...schemaProblems(value, logEntrySchema).map(describeProblem));
}

// A byte order mark is not taken away: no log begins with one.
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A log is there and cannot be read, or is there no more. */
export class UnreadableLogError extends StratagraphError {
  readonly code = "experiment_log_unreadable";
  override readonly kind = "run";

  constructor(
    readonly file: string,
    options: { readonly cause: unknown },
  ) {
    const { code, message } = options.cause as NodeJS.ErrnoException;
    super(`The log ${file} cannot be read (${code ?? message}).`, options);
  }
}
