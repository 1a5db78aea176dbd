import { z } from "zod";
import { fitsJsonb } from "../jsonb.ts";
import { nameProblem } from "../place.ts";
import { readableBytes } from "./readable-bytes.ts";

/** Of the format. Whoever changes what lines mean counts on; readers refuse what is newer than they are. */
export const FORMAT_VERSION = 1;

/** Characters of a line at most, and bytes where they are read. A longer one is not received. */
export const MAX_LINE = 2 ** 27;

const hash = z.string().regex(/^[0-9a-f]{64}$/);
/** Part of a key, or text in a column. */
const name = z.string().refine((text) => nameProblem(text) === undefined);
/** Null is JSON. */
const type = name.nullable();
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

/** An element of a log: some elements of a list, entries of an object as keys and values in turn, or a single value. */
const elementLine = z.object({
  log: count,
  idx: z.int32().nonnegative(),
  type,
  value: readableBytes,
});
export type ElementLine = z.infer<typeof elementLine>;

const pendingWrite = z.object({
  idx: z.int32(),
  channel: z.string(),
  type,
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
  type,
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

/** The lines between the first and the last: each an object with the one key that says what it is. */
export const contentLine = z.union([
  z.strictObject({ element: elementLine }),
  z.strictObject({ checkpoint: checkpointLine }),
  z.strictObject({ definition: definitionLine }),
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
