import { createHash } from "node:crypto";
import { readFile, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { z } from "zod";
import { systemClock } from "../../clock.ts";
import { StratagraphError } from "../../errors.ts";
import {
  type MemorySource,
  type MemoryType,
  type NewMemoryEntry,
  namespaceSchema,
  newMemoryEntrySchema,
} from "../../memory/entry.ts";
import { InvalidMemoryError } from "../../memory/errors.ts";
import type { Memory } from "../../memory/memory.ts";
import { instanceIdOf } from "../../memory/namespace.ts";
import { checkThreadId } from "../../runtime/errors.ts";
import { type CliIo, UsageError } from "../io.ts";
import { existingFile } from "../load.ts";
import { printJson, printLines } from "../output.ts";
import { exitCodes } from "../report-error.ts";
import { byteSize, count } from "../view/figures.ts";
import { plainLine } from "../view/terminal.ts";
import {
  type MemoryScope,
  type MemoryScopeOptions,
  namespaceOf,
  readScope,
  scopeText,
  withMemory,
} from "./open.ts";

export interface MemoryAddOptions extends MemoryScopeOptions {
  readonly thread?: string;
  readonly type?: MemoryType;
  readonly source?: MemorySource;
  readonly tag?: readonly string[];
  readonly entity?: readonly string[];
  readonly importance?: number;
  /** Milliseconds. */
  readonly expiresIn?: number;
  /** JSON Lines; `-` is standard input. */
  readonly file?: string;
  readonly json?: boolean;
}

/** Limits of a file of entries. */
const fileLimits = { bytes: 64_000_000, entries: 50_000 };
/** Entries of one transaction. */
const batchSize = 200;
const shownProblems = 20;

/**
 * `stratagraph memory add`: stores a text, or the entries of a file.
 * @throws UsageError, InvalidMemoryError, MemoryFileError; nothing is written then
 */
export async function memoryAddCommand(
  given: MemoryAddOptions & { readonly text: string | undefined },
  io: CliIo,
): Promise<number> {
  const { text, file } = given;
  if ((text === undefined) === (file === undefined)) {
    throw new UsageError("Give TEXT to remember, or --file with entries, one of them.");
  }
  if (given.thread !== undefined) checkThreadId(given.thread);
  const scope = await readScope(given, io);
  const defaults = defaultsOf(given, scope);
  const entries =
    text === undefined
      ? readEntries(await readFileText(file ?? "", io), file ?? "", defaults)
      : [readEntry(text, { ...defaults, namespace: namespaceOf(scope) })];
  const added = await withMemory(scope, io, (memory, signal) => addAll(entries, memory, signal));
  const fresh = added.filter(({ isNew }) => isNew);
  const known = added.length - fresh.length;
  const withoutVector = fresh.filter(({ isEmbedded }) => !isEmbedded).length;
  if (given.json) {
    const ids = added.map(({ id }) => id);
    printJson({ added: fresh.length, known, without_vector: withoutVector, ids }, io);
    return exitCodes.done;
  }
  const [only] = added;
  const where = scope.namespace === null ? "" : ` ${scopeText(scope)}`;
  const what =
    text === undefined
      ? `Added ${counted(fresh.length)}${where}.`
      : `Added memory ${only?.id ?? ""}${where}.`;
  const before = known === 0 ? [] : [`${counted(known)} there already.`];
  printLines([plainLine(what), ...before], io);
  return exitCodes.done;
}

function counted(entries: number): string {
  return count(entries, "memory").replace(/memorys$/, "memories");
}

/** What the options say of every entry. */
function defaultsOf(given: MemoryAddOptions, scope: MemoryScope): Partial<NewMemoryEntry> {
  const { thread, type, source = "user", tag = [], entity, importance, expiresIn } = given;
  const { namespace } = scope;
  const expiry =
    expiresIn === undefined
      ? undefined
      : new Date(systemClock.now().getTime() + expiresIn).toISOString();
  return {
    ...(namespace !== null && { namespace }),
    ...(thread !== undefined && { thread_id: thread }),
    ...(type !== undefined && { memory_type: type }),
    ...(importance !== undefined && { importance }),
    ...(expiry !== undefined && { expires_at: expiry }),
    metadata: { source, tags: tag, ...(entity !== undefined && { entities: entity }) },
  };
}

/** @throws InvalidMemoryError */
function readEntry(content: string, defaults: Partial<NewMemoryEntry>): NewMemoryEntry {
  const read = newMemoryEntrySchema.safeParse({ ...defaults, content });
  if (!read.success) throw new InvalidMemoryError("entry", problemsOf(read.error));
  return withInstance(read.data);
}

/** The entry with the agent in its thread. */
function withInstance(entry: NewMemoryEntry): NewMemoryEntry {
  const { namespace, thread_id: thread, instance_id: instance } = entry;
  const [root, agent] = namespace;
  if (root !== "agents" || agent === undefined || typeof thread !== "string") return entry;
  return { ...entry, instance_id: instance ?? instanceIdOf(agent, thread) };
}

const lineSchema = newMemoryEntrySchema.extend({ namespace: namespaceSchema.optional() });

/**
 * The entries of lines of JSON, each with the defaults where it says nothing.
 * @throws MemoryFileError
 */
function readEntries(
  text: string,
  shown: string,
  defaults: Partial<NewMemoryEntry>,
): readonly NewMemoryEntry[] {
  const problems: string[] = [];
  const entries: NewMemoryEntry[] = [];
  let number = 0;
  for (const line of text.split("\n")) {
    number += 1;
    if (line.trim() === "") continue;
    const read = readLine(line, defaults);
    if (typeof read === "string") problems.push(`line ${number}: ${read}`);
    else entries.push(read);
    if (entries.length + problems.length > fileLimits.entries) {
      const most = fileLimits.entries.toLocaleString("en");
      throw new MemoryFileError(shown, [`more than ${most} entries; split the file`]);
    }
  }
  if (problems.length > 0) throw new MemoryFileError(shown, problems);
  if (entries.length === 0) throw new MemoryFileError(shown, ["it has no entries"]);
  return entries;
}

/** @returns the problem of a line that is no entry */
function readLine(line: string, defaults: Partial<NewMemoryEntry>): NewMemoryEntry | string {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return "expected a JSON object";
  }
  const read = lineSchema.safeParse(value);
  if (!read.success) return problemsOf(read.error).join("; ");
  const { data } = read;
  const namespace = data.namespace ?? defaults.namespace;
  if (namespace === undefined) return "expected a namespace; or give --agent or --namespace";
  // The same line is the same entry, so that a file can be added again after an interruption.
  const key = data.key ?? data.id ?? `line:${createHash("sha256").update(line).digest("hex")}`;
  const metadata = { ...defaults.metadata, ...data.metadata };
  return withInstance({ ...defaults, ...data, namespace, key, metadata });
}

function problemsOf(error: z.ZodError): readonly string[] {
  return error.issues
    .slice(0, shownProblems)
    .map(({ path, message }) =>
      path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`,
    );
}

/** @throws UsageError, MemoryFileError */
async function readFileText(file: string, io: CliIo): Promise<string> {
  const bytes = file === "-" ? await readStdin(io) : await readWhole(file, io);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    throw new MemoryFileError(file, ["it is not UTF-8 text"], { cause });
  }
}

async function readWhole(file: string, { cwd }: Pick<CliIo, "cwd">): Promise<Uint8Array> {
  const path = await existingFile(resolve(cwd, file), file);
  if ((await stat(path)).size > fileLimits.bytes) throw tooLarge(file);
  return readFile(path);
}

async function readStdin({ stdin }: Pick<CliIo, "stdin">): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stdin) {
    bytes += chunk.byteLength;
    if (bytes > fileLimits.bytes) throw tooLarge("-");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function tooLarge(file: string): MemoryFileError {
  return new MemoryFileError(file, [`larger than ${byteSize(fileLimits.bytes)}; split the file`]);
}

/** Adds entries in batches, each as a whole. */
async function addAll(
  entries: readonly NewMemoryEntry[],
  memory: Memory,
  signal: AbortSignal,
): Promise<Awaited<ReturnType<Memory["add"]>>> {
  const added: Awaited<ReturnType<Memory["add"]>>[number][] = [];
  for (let at = 0; at < entries.length; at += batchSize) {
    signal.throwIfAborted();
    added.push(...(await memory.add(entries.slice(at, at + batchSize), { signal })));
  }
  return added;
}

/** A file of entries cannot be added. Nothing was written. */
class MemoryFileError extends StratagraphError {
  readonly code = "memory_file";
  /** The first few. */
  readonly problems: readonly string[];

  constructor(
    /** As it was given. */
    readonly file: string,
    problems: readonly string[],
    options?: { cause?: unknown },
  ) {
    const shown = problems.slice(0, shownProblems);
    const more = problems.length - shown.length;
    const rest = more > 0 ? [`and ${more.toLocaleString("en")} more`] : [];
    const name = file === "-" ? "Standard input" : file;
    super(
      `${name} cannot be added, and nothing was written:\n${[...shown, ...rest].map((one) => `  ${one}`).join("\n")}`,
      options,
    );
    this.problems = shown;
  }
}
