import { z } from "zod";
import { readableBytes } from "./readable-bytes.ts";

/** Of the format. Whoever changes what lines mean counts on; readers refuse what is newer than they are. */
export const FORMAT_VERSION = 1;

const hash = z.string().regex(/^[0-9a-f]{64}$/);
/** Null is JSON. */
const type = z.string().nullable();
const place = z.number().int().nonnegative();
/** Passed on as it was parsed, whatever its keys. */
const jsonObject = z.custom<Record<string, unknown>>(
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
  "Expected an object",
);

/** The first line. */
export const headerLine = z.object({
  format: z.literal("stratagraph-thread"),
  version: z.literal(FORMAT_VERSION),
  threadId: z.string(),
  /** ISO 8601. */
  exportedAt: z.string(),
  checkpoints: place,
});
export type HeaderLine = z.infer<typeof headerLine>;

/** A definition that checkpoints name by its hash in their metadata. */
const definitionLine = z.object({ hash, definition: z.unknown() });
export type DefinitionLine = z.infer<typeof definitionLine>;

/** An element of a log: some elements of a list, entries of an object as keys and values in turn, or a single value. */
const elementLine = z.object({ log: place, idx: place, type, value: readableBytes });
export type ElementLine = z.infer<typeof elementLine>;

const pendingWrite = z.object({
  idx: z.number().int(),
  channel: z.string(),
  type,
  value: readableBytes,
});

const writeSet = z.object({
  taskId: z.string(),
  /** Left out where there is none. */
  taskPath: z.string().optional(),
  idx: z.number().int(),
  hash,
  writes: z.array(pendingWrite).min(1),
});
export type WriteSetLine = z.infer<typeof writeSet>;

const anyCheckpoint = {
  namespace: z.string(),
  id: z.string(),
  parentId: z.string().nullable(),
  type,
  metadata: jsonObject,
  writeSets: z.array(writeSet),
};

/** A checkpoint. Its parent, if that is in the thread, and the elements it refers to, come before. */
const checkpointLine = z.object({
  ...anyCheckpoint,
  body: readableBytes,
  /** Flat triples: log, from, to. */
  segments: z.array(place),
  summary: jsonObject.nullable(),
  hash,
  parentHash: hash.nullable(),
});
export type CheckpointLine = z.infer<typeof checkpointLine>;

/** Of the stock class, as are the two below. */
const stockCheckpointLine = z.object({ ...anyCheckpoint, checkpoint: jsonObject });
export type StockCheckpointLine = z.infer<typeof stockCheckpointLine>;

const stockBlobLine = z.object({
  namespace: z.string(),
  channel: z.string(),
  version: z.string(),
  type: z.string(),
  value: readableBytes.nullable(),
});
export type StockBlobLine = z.infer<typeof stockBlobLine>;

const stockWriteLine = z.object({
  namespace: z.string(),
  checkpointId: z.string(),
  taskId: z.string(),
  idx: z.number().int(),
  channel: z.string(),
  type,
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
    lines: place,
    /** Over the lines before this one, each with a line feed. */
    sha256: hash,
  }),
});
export type EndLine = z.infer<typeof endLine>;

/** One line of text, without the line feed. Readers of lines that know Unicode would end one at these two characters. */
export function toLine(line: HeaderLine | ContentLine | EndLine): string {
  return JSON.stringify(line)
    .replaceAll("\u2028", String.raw`\u2028`)
    .replaceAll("\u2029", String.raw`\u2029`);
}
