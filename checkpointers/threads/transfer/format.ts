import { z } from "zod";
import { fitsJsonb } from "../../checkpoint-body.ts";
import { nameProblem } from "../../config.ts";
import { DamagedValue } from "../../elements/load-value.ts";
import type { DataSerializer } from "../../elements/revive.ts";

/** Version of the format. A change of meaning increments it; readers refuse newer versions. */
export const FORMAT_VERSION = 1;

/** Characters of a line at most, and bytes where they are read. A longer one is not received. */
export const MAX_LINE = 2 ** 27;

const hash = z.string().regex(/^[0-9a-f]{64}$/);
/** Part of a key, or text in a column. */
const name = z.string().refine((text) => nameProblem(text) === undefined);
/** Null is JSON. */
const valueType = name.nullable();
const count = z.number().int().nonnegative();
/** Passed on as it was parsed, whatever its keys. */
const jsonObject = z.custom<Record<string, unknown>>(
  (value) => isObject(value) && fitsJsonb(value),
  "Expected an object that a database can hold",
);

/** The first line. */
export const headerLine = z.object({
  format: z.literal("stratagraph-thread"),
  version: z.literal(FORMAT_VERSION),
  threadId: name,
  /** ISO 8601. */
  exportedAt: z.string(),
  checkpoints: count.positive(),
});
export type HeaderLine = z.infer<typeof headerLine>;

/** A definition that checkpoints name by its hash in their metadata. */
const definitionLine = z.object({ hash, definition: jsonObject });
export type DefinitionLine = z.infer<typeof definitionLine>;

/** Stored bytes in a line of an export: as the JSON that they are the text of, else as text, else as base64. */
const readableBytes = z.union([
  z.strictObject({ base64: z.base64() }),
  z.strictObject({ text: z.string() }),
  z.strictObject({ json: z.unknown().refine((value): boolean => value !== undefined) }),
]);

/** An element of a log: some elements of a list, entries of an object as keys and values in turn, or a single value. */
const elementLine = z.object({
  log: count,
  idx: z.int32().nonnegative(),
  type: valueType,
  value: readableBytes,
});
export type ElementLine = z.infer<typeof elementLine>;

const pendingWrite = z.object({
  idx: z.int32(),
  channel: z.string(),
  type: valueType,
  value: readableBytes,
});

const writeSet = z.object({
  taskId: name,
  /** Left out where there is none. */
  taskPath: z.string().optional(),
  idx: z.int32(),
  hash,
  writes: z.array(pendingWrite).min(1),
});
export type WriteSetLine = z.infer<typeof writeSet>;

const anyCheckpoint = {
  namespace: name,
  id: name,
  parentId: name.nullable(),
  type: valueType,
  metadata: jsonObject,
  writeSets: z.array(writeSet),
};

/** A checkpoint. Its parent, if that is in the thread, and the elements it refers to, come before. */
const checkpointLine = z.object({
  ...anyCheckpoint,
  body: readableBytes,
  /** Flat triples: log, from, to. */
  segments: z.array(count),
  summary: jsonObject.nullable(),
  hash,
  parentHash: hash.nullable(),
});
export type CheckpointLine = z.infer<typeof checkpointLine>;

/** Of the stock class, as are the two below. */
const stockCheckpointLine = z.object({
  ...anyCheckpoint,
  checkpoint: jsonObject.refine(isStockCheckpoint),
});
export type StockCheckpointLine = z.infer<typeof stockCheckpointLine>;

/** The statements of the stock class read it as the text form of bytes, in which a backslash begins an escape. */
const stockName = name.refine((text) => !text.includes("\\"));

const stockBlobLine = z.object({
  namespace: name,
  channel: stockName,
  version: name,
  type: stockName,
  value: readableBytes.nullable(),
});
export type StockBlobLine = z.infer<typeof stockBlobLine>;

const stockWriteLine = z.object({
  namespace: name,
  checkpointId: name,
  taskId: stockName,
  idx: z.int32(),
  channel: stockName,
  type: stockName,
  value: readableBytes,
});
export type StockWriteLine = z.infer<typeof stockWriteLine>;

/** The bytes of an attachment. */
const attachmentLine = z.object({
  /** Of the bytes. */
  sha256: hash,
  mimeType: z
    .string()
    .max(200)
    .refine((text) => nameProblem(text) === undefined),
  /** As the serializer has them. */
  type: name,
  value: readableBytes,
});
export type AttachmentLine = z.infer<typeof attachmentLine>;

/** The lines between the first and the last: each an object with the one key that says what it is. */
export const contentLine = z.union([
  z.strictObject({ element: elementLine }),
  z.strictObject({ checkpoint: checkpointLine }),
  z.strictObject({ definition: definitionLine }),
  z.strictObject({ attachment: attachmentLine }),
  z.strictObject({ stockBlob: stockBlobLine }),
  z.strictObject({ stockWrite: stockWriteLine }),
  z.strictObject({ stockCheckpoint: stockCheckpointLine }),
]);
export type ContentLine = z.infer<typeof contentLine>;

/** The last line. */
export const endLine = z.strictObject({
  end: z.object({
    /** Before this one. */
    lines: count,
    /** Over the lines before this one, each with a line feed. */
    sha256: hash,
  }),
});
export type EndLine = z.infer<typeof endLine>;

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether the statements of the stock class can read it. */
function isStockCheckpoint(checkpoint: Record<string, unknown>): boolean {
  const { v, id, ts, channel_versions: versions = {}, versions_seen: seen = {} } = checkpoint;
  return (
    typeof v === "number" &&
    typeof id === "string" &&
    typeof ts === "string" &&
    isObject(versions) &&
    isObject(seen) &&
    Object.values(seen).every(isObject)
  );
}

/** One line of text, without the line feed. Readers of lines that know Unicode would end one at these two characters. */
export function toLine(line: HeaderLine | ContentLine | EndLine): string {
  return JSON.stringify(line)
    .replaceAll("\u2028", String.raw`\u2028`)
    .replaceAll("\u2029", String.raw`\u2029`);
}

export type ReadableBytes = z.infer<typeof readableBytes>;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function toReadable(bytes: Uint8Array): ReadableBytes {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    return { base64: Buffer.from(bytes).toString("base64") };
  }
  try {
    const json: unknown = JSON.parse(text);
    // Spaces, and ways to write a number or a letter, would be lost: the bytes have a hash to keep.
    if (JSON.stringify(json) === text) return { json };
  } catch {
    // Other text, or JSON nested deeper than can be written again.
  }
  return { text };
}

export function fromReadable(readable: ReadableBytes): Buffer {
  if ("base64" in readable) return Buffer.from(readable.base64, "base64");
  return Buffer.from("json" in readable ? JSON.stringify(readable.json) : readable.text, "utf8");
}

/** Levels of lists and objects. JSON that is much deeper overflows the stack of what reads it, the database's too. */
const MAX_LEVELS = 1_000;

/** How the elements of a list or an object can be made of a unit. */
export interface UnitShape {
  readonly length: number;
  /** Whether it can be keys and values in turn. */
  readonly hasKeys: boolean;
  /** The last item of an odd number: as the key of an object, that of a value stored by its own elements. */
  readonly lastKey: unknown;
}

/** Looks at a value without reviving it. */
export type InspectValue = (type: string | null, bytes: Uint8Array) => unknown;

/**
 * Returns a function that gives the JSON of bytes, and undefined for plain bytes. It throws a {@link DamagedValue} for what
 * could not be read after the import, and for what reading would construct by its name: any class of LangChain that is
 * no message. A file must not choose what code runs. Undefined for another serializer than LangGraph's: what that makes
 * of bytes is not known here.
 */
export function valueInspector({ isStock }: DataSerializer): InspectValue | undefined {
  if (!isStock) return undefined;
  return (type, bytes) => {
    if (type === null || type === "json") return parseJson(bytes);
    if (type === "bytes") return undefined;
    throw new DamagedValue(
      type === "langchain"
        ? "a value is a LangChain object other than a message, which is not imported"
        : "a value is of a type that no export has",
    );
  };
}

/** @throws {DamagedValue} */
export function parseJson(bytes: Uint8Array): unknown {
  try {
    return parseBounded(strictDecoder.decode(bytes));
  } catch (cause) {
    if (cause instanceof DamagedValue) throw cause;
    throw new DamagedValue("a value is not JSON", { cause });
  }
}

const strictDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** @throws {DamagedValue} when it is nested too deep; SyntaxError */
export function parseBounded(text: string): unknown {
  if (isDeeper(text, MAX_LEVELS)) {
    throw new DamagedValue(
      `JSON is nested more than ${MAX_LEVELS.toLocaleString("en")} levels deep`,
    );
  }
  return JSON.parse(text);
}

export function unitShape(value: unknown): UnitShape | undefined {
  if (!Array.isArray(value)) return undefined;
  const { length } = value;
  return {
    length,
    hasKeys: value.every(
      (item, at) => at % 2 === 1 || (typeof item === "string" && item !== "__proto__"),
    ),
    lastKey: length % 2 === 1 ? value[length - 1] : undefined,
  };
}

/** Counts brackets outside of strings, which needs no stack. */
function isDeeper(json: string, levels: number): boolean {
  if (json.length <= levels) return false;
  const token = /["[\]{}]/g;
  let level = 0;
  for (let found = token.exec(json); found !== null; found = token.exec(json)) {
    const [bracket] = found;
    if (bracket === '"') token.lastIndex = endOfString(json, token.lastIndex);
    else level += bracket === "[" || bracket === "{" ? 1 : -1;
    if (level > levels) return true;
  }
  return false;
}

/** Where a string that begins before `from` is over. */
function endOfString(json: string, from: number): number {
  for (let quote = json.indexOf('"', from); quote !== -1; quote = json.indexOf('"', quote + 1)) {
    let slashes = 0;
    while (json.charCodeAt(quote - slashes - 1) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return quote + 1;
  }
  return json.length;
}

const BACKSLASH = 0x5c;
