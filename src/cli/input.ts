import { randomUUID } from "node:crypto";
import { readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { maxInputBytes } from "../compile/input.ts";
import { errorMessage, StratagraphError } from "../errors.ts";
import type { ToolCallResult } from "../runtime/execute-agent.ts";
import { isRecord } from "../values/json.ts";
import { type CliIo, UsageError } from "./io.ts";

export interface InputArguments {
  readonly message: string | undefined;
  /** JSON. */
  readonly input: string | undefined;
  readonly thread: string | undefined;
  readonly stdin: AsyncIterable<Uint8Array>;
}

/** Stands for standard input in place of a text. */
const fromStdin = "-";

/**
 * Returns the input of a turn from the command line; null if a thread will be resumed.
 * @throws UsageError
 */
export async function readInput(given: InputArguments): Promise<unknown> {
  const { message, input, thread, stdin } = given;
  if (message !== undefined && input !== undefined) {
    throw new UsageError("Give either MESSAGE or --input, not both.");
  }
  if (message !== undefined) {
    const text = message === fromStdin ? await readText(stdin) : message;
    return { message: message === fromStdin ? text.replace(/\r?\n$/, "") : text };
  }
  if (input !== undefined) return parseInput(input === fromStdin ? await readText(stdin) : input);
  if (thread !== undefined) return null;
  throw new UsageError(
    "Nothing to run: give MESSAGE or --input, or --thread alone to resume its unfinished turn.",
  );
}

function parseInput(json: string): unknown {
  let input: unknown;
  try {
    input = JSON.parse(json);
  } catch (cause) {
    throw new UsageError(`--input is not JSON: ${errorMessage(cause)}.`, "invalid_json", { cause });
  }
  if (input === null) throw new UsageError("--input is null; expected an object.", "invalid_json");
  return input;
}

/** Bytes of tool results as JSON; what `executeAgent` takes, with room for white space. */
const maxResultsBytes = 2 * 16 * 1024 * 1024;

/**
 * Returns the results of client tools from the command line: a list, or a single one. Their form is checked when the
 * thread is resumed.
 *
 * @param given JSON, `@` and the path of a file, or `-` for stdin
 * @throws UsageError
 */
export async function readToolResults(
  given: string,
  { cwd, stdin }: Pick<CliIo, "cwd" | "stdin">,
): Promise<readonly ToolCallResult[]> {
  const text =
    given === fromStdin
      ? await readText(stdin, maxResultsBytes)
      : given.startsWith("@")
        ? await readTextFile(resolve(cwd, given.slice(1)))
        : given;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const problem = `--tool-results is not JSON: ${errorMessage(cause)}.`;
    throw new UsageError(problem, "invalid_json", { cause });
  }
  return (Array.isArray(value) ? value : [value]) as readonly ToolCallResult[];
}

async function readTextFile(path: string): Promise<string> {
  try {
    const { size } = await stat(path);
    if (size <= maxResultsBytes) return await readFile(path, "utf8");
  } catch (cause) {
    const problem = `--tool-results cannot be read: ${errorMessage(cause)}.`;
    throw new UsageError(problem, "unreadable_file", { cause });
  }
  const most = maxResultsBytes.toLocaleString("en");
  throw new UsageError(`--tool-results: the file exceeds ${most} bytes.`, "input_too_large");
}

async function readText(
  stdin: AsyncIterable<Uint8Array>,
  maxBytes: number = maxInputBytes,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stdin) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) {
      throw new UsageError(
        `Standard input exceeds ${maxBytes.toLocaleString("en")} bytes, the maximum size of an input.`,
        "input_too_large",
      );
    }
    chunks.push(chunk);
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
  } catch (cause) {
    throw new UsageError("Standard input is not UTF-8 text.", "invalid_text", { cause });
  }
}

/**
 * A JSON object that an option gives.
 * @throws UsageError
 */
export function readJsonObject(json: string, option: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (cause) {
    throw new UsageError(`${option} is not JSON: ${errorMessage(cause)}.`, "invalid_json", {
      cause,
    });
  }
  if (isRecord(value)) return value;
  throw new UsageError(
    `${option} is not a JSON object: expected {"channel": value}.`,
    "invalid_json",
  );
}

/**
 * Writes a file, or replaces it, so that it is never there in part. Only its owner can read it: it may hold values of runs.
 * The mode of a file that it replaces does not count.
 * @throws OutputFileError, and what the content throws while it is made
 */
export async function writeFileAtomic(
  file: string,
  content: string | Uint8Array | AsyncIterable<string>,
): Promise<void> {
  // In the same folder, because a rename is atomic only within a file system.
  const draft = `${file}.${randomUUID()}.tmp`;
  try {
    await writeFile(draft, content, { flag: "wx", mode: 0o600 });
    await rename(draft, file);
  } catch (cause) {
    await rm(draft, { force: true });
    if (cause instanceof StratagraphError) throw cause;
    throw new OutputFileError(file, { cause });
  }
}

/** A file could not be written. */
class OutputFileError extends StratagraphError {
  readonly code = "output_file";

  constructor(
    readonly file: string,
    options: { cause: unknown },
  ) {
    const { code, message } = options.cause as NodeJS.ErrnoException;
    super(
      `Cannot write ${file}: ${code === "ENOENT" ? "its folder does not exist" : message}.`,
      options,
    );
  }
}
