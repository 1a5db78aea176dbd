import { z } from "zod";
import { deepFreeze, isRecord } from "../values/json.ts";
import {
  type MemoryEntry,
  type MemoryMetadata,
  type MemoryVector,
  type NewMemoryEntry,
  jsonProblem,
  memoryLimits,
  memoryTypes,
  namespaceSchema,
  newMemoryEntrySchema,
  storableText,
  uuidPattern,
} from "./entry.ts";
import { InvalidMemoryError, MemoryDimensionError } from "./errors.ts";
import type {
  ConsolidationChange,
  MemoryFilter,
  MemoryPage,
  MemoryStore,
  MemoryUse,
} from "./store.ts";

/** An entry as all stores write it: complete, checked, frozen and without anything that the caller can change. */
export interface CheckedEntry {
  readonly entry: MemoryEntry;
  readonly vector: MemoryVector | null;
}

export interface CheckOptions {
  readonly tenantId: string;
  readonly ids: () => string;
  /** ISO 8601. */
  readonly now: string;
}

/** The entry of a model of vectors, and the value of a key, have this length at most. */
const shortText = storableText.min(1).max(memoryLimits.key);

/**
 * Checks an entry and adds what it leaves out.
 *
 * @throws InvalidMemoryError, MemoryDimensionError
 */
export function checkEntry(given: NewMemoryEntry, { tenantId, ids, now }: CheckOptions) {
  const { embedding, value, metadata: { data, ...metadata } = {}, ...rest } = given;
  const checked = parse("entry", newMemoryEntrySchema, { ...rest, metadata });
  const id = checked.id ?? ids();
  const entry: MemoryEntry = {
    id,
    tenant_id: tenantId,
    namespace: checked.namespace,
    key: checked.key ?? id,
    instance_id: checked.instance_id ?? null,
    thread_id: checked.thread_id ?? null,
    memory_type: checked.memory_type ?? "semantic",
    content: checked.content,
    summary: checked.summary ?? null,
    embedding_model: embedding?.model ?? null,
    importance: checked.importance ?? 0.5,
    access_count: 0,
    last_accessed: null,
    last_score: null,
    metadata: withDefaults(checked.metadata ?? {}, checkJson("metadata.data", data) ?? undefined),
    value: checkJson("value", value),
    created_at: checked.created_at === undefined ? now : checkTime(checked.created_at),
    updated_at: now,
    expires_at: checked.expires_at == null ? null : checkTime(checked.expires_at),
  };
  const vector = embedding ? checkVector(embedding) : null;
  return { entry: deepFreeze(entry), vector } satisfies CheckedEntry;
}

function withDefaults(
  { source = "system", turn_id = null, tags = [], entities = [], ...rest }: Partial<MemoryMetadata>,
  data: MemoryMetadata["data"],
): MemoryMetadata {
  return {
    source,
    turn_id,
    tags,
    entities,
    ...(rest.speaker !== undefined && { speaker: rest.speaker }),
    ...(rest.merged !== undefined && { merged: rest.merged }),
    ...(data !== undefined && { data }),
  };
}

/**
 * A copy of a vector that has length 1, or 0: a vector without a direction is stored, and near to nothing.
 *
 * @throws InvalidMemoryError, MemoryDimensionError
 */
export function checkVector({ model, vector }: MemoryVector): MemoryVector {
  parse("vector", z.object({ model: shortText }), { model });
  if (!(vector instanceof Float32Array))
    throw new InvalidMemoryError("vector", ["expected a Float32Array"]);
  if (vector.length === 0 || vector.length > memoryLimits.dimensions) {
    const expected = `1 to ${memoryLimits.dimensions.toLocaleString("en")}`;
    throw new MemoryDimensionError(model, expected, vector.length);
  }
  const squares = vector.reduce((sum, part) => sum + part * part, 0);
  if (!Number.isFinite(squares))
    throw new InvalidMemoryError("vector", ["expected finite numbers"]);
  const length = Math.sqrt(squares);
  const copy = Float32Array.from(vector);
  if (length > 0) for (const [at, part] of vector.entries()) copy[at] = part / length;
  return { model, vector: copy };
}

/** Whether a vector has no direction. */
export function isZero(vector: Float32Array): boolean {
  return vector.every((part) => part === 0);
}

const changeSchema = z.strictObject({
  content: newMemoryEntrySchema.shape.content.optional(),
  importance: newMemoryEntrySchema.shape.importance,
  memory_type: z.enum(memoryTypes).optional(),
  expires_at: newMemoryEntrySchema.shape.expires_at,
  metadata: newMemoryEntrySchema.shape.metadata,
});

type Change = Parameters<MemoryStore["update"]>[1];

/** The parts of an entry that a change replaces. @throws InvalidMemoryError */
export function checkChange(change: Change): Change {
  const { metadata, ...rest } = change;
  const { data, ...plain } = metadata ?? {};
  const checked = parse("change", changeSchema, { ...rest, ...(metadata && { metadata: plain }) });
  return {
    ...(checked.content !== undefined && { content: checked.content }),
    ...(checked.importance !== undefined && { importance: checked.importance }),
    ...(checked.memory_type !== undefined && { memory_type: checked.memory_type }),
    ...(checked.expires_at !== undefined && {
      expires_at: checked.expires_at === null ? null : checkTime(checked.expires_at),
    }),
    ...(checked.metadata && {
      metadata: deepFreeze(
        withDefaults(checked.metadata, checkJson("metadata.data", data) ?? undefined),
      ),
    }),
  };
}

const readAt = z.iso.datetime();
const changesSchema = z.array(
  z.discriminatedUnion("kind", [
    z.strictObject({
      kind: z.literal("move"),
      id: z.string(),
      readAt,
      to: z.enum(memoryTypes).exclude(["short_term"]),
      importance: z.number().min(0).max(1),
      summary: newMemoryEntrySchema.shape.content.optional(),
      embedding: z.unknown().optional(),
    }),
    z.strictObject({
      kind: z.literal("merge"),
      id: z.string(),
      readAt,
      into: z.string(),
      intoReadAt: readAt.optional(),
    }),
    z.strictObject({ kind: z.literal("evict"), id: z.string(), readAt, archive: z.boolean() }),
  ]),
);

/** Changes with checked vectors. @throws InvalidMemoryError, MemoryDimensionError */
export function checkChanges(
  changes: readonly ConsolidationChange[],
): readonly ConsolidationChange[] {
  parse("change", changesSchema, changes);
  return changes.map((change) =>
    change.kind === "move" && change.embedding
      ? { ...change, embedding: checkVector(change.embedding) }
      : change,
  );
}

const text = storableText;
const filterSchema = z.strictObject({
  namespace: z.union([namespaceSchema, z.array(text).length(0)]).optional(),
  exact: z.boolean().optional(),
  ids: z.array(z.string()).optional(),
  keys: z.array(text).optional(),
  types: z.array(z.enum(memoryTypes)).optional(),
  threadId: text.optional(),
  instanceId: text.optional(),
  source: z.enum(["user", "agent", "tool", "system"]).optional(),
  tags: z.array(text).optional(),
  since: z.iso.datetime({ offset: true }).optional(),
  until: z.iso.datetime({ offset: true }).optional(),
});

/** A filter whose times are in UTC and whose ids may exist. @throws InvalidMemoryError */
export function checkFilter(filter: MemoryFilter): MemoryFilter {
  const { ids, since, until, ...rest } = parse("filter", filterSchema, filter);
  return {
    ...rest,
    ...(ids && { ids: knownIds(ids) }),
    ...(since !== undefined && { since: checkTime(since) }),
    ...(until !== undefined && { until: checkTime(until) }),
  };
}

/** Ids that an entry can have, each once. */
export function knownIds(ids: readonly string[]): readonly string[] {
  return [...new Set(ids)].filter((id) => uuidPattern.test(id));
}

/** Entries in a page at most. */
export const maxPage = 1_000;

const pageSchema = z.strictObject({
  order: z.enum(["newest", "oldest", "accessed"]).default("newest"),
  limit: z.int().min(1).max(maxPage).default(100),
  after: z.string().regex(uuidPattern, "expected the id of an entry").optional(),
});

/** @throws InvalidMemoryError */
export function checkPage(page: MemoryPage): z.infer<typeof pageSchema> {
  return parse("page", pageSchema, page);
}

/** Returns a number of entries to read. @throws InvalidMemoryError */
export function checkLimit(limit: number, most: number): number {
  return parse("limit", z.int().min(1).max(most), limit);
}

/** @throws InvalidMemoryError for a namespace; an empty prefix is one of all. */
export function checkPrefix(prefix: readonly string[]): readonly string[] {
  return checkFilter({ namespace: prefix }).namespace ?? [];
}

/** The error of a new entry with the id of another one. */
export function idTaken(id: string): InvalidMemoryError {
  return new InvalidMemoryError("entry", [`id: ${id} is the id of an entry with another key`]);
}

/** The error of a page that continues after an entry that is gone. */
export function unknownAfter(id: string): InvalidMemoryError {
  return new InvalidMemoryError("page", [
    `after: no entry has the id ${id} any more; list again from the beginning`,
  ]);
}

const usesSchema = z.array(
  z.strictObject({
    id: z.string(),
    run: shortText,
    threadId: shortText.nullable(),
    score: z.number().min(0).max(1),
  }),
);

/** Uses of entries that may exist, one for each entry and run. @throws InvalidMemoryError */
export function checkUses(uses: readonly MemoryUse[]): readonly MemoryUse[] {
  const first = new Map<string, MemoryUse>();
  for (const use of parse("use", usesSchema, uses)) {
    const key = JSON.stringify([use.id, use.run]);
    if (uuidPattern.test(use.id) && !first.has(key)) first.set(key, use);
  }
  return [...first.values()];
}

/** @throws InvalidMemoryError if a part that a removal selects by is missing. */
export function checkRemoval(filter: MemoryFilter): MemoryFilter {
  const { exact: _, ...parts } = checkFilter(filter);
  const isEverything = Object.values(parts).every((part) => part === undefined);
  if (isEverything)
    throw new InvalidMemoryError("filter", [
      "expected at least one part; the namespace [] selects all entries",
    ]);
  return checkFilter(filter);
}

/** @throws InvalidMemoryError */
export function checkTenantId(tenantId: string): string {
  if (uuidPattern.test(tenantId)) return tenantId;
  throw new InvalidMemoryError("tenant", ["expected a UUID in lower case"]);
}

function parse<Schema extends z.ZodType>(
  subject: string,
  schema: Schema,
  value: unknown,
): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problems = result.error.issues.slice(0, 10).map(({ path, message }) => {
    const at = path.map(String).join(".");
    return at === "" ? message : `${at}: ${message}`;
  });
  throw new InvalidMemoryError(subject, problems);
}

const earliest = "0001-01-01T00:00:00.000Z";

/** A time in UTC with milliseconds: times compare as texts. Postgres knows no year 0. */
function checkTime(time: string): string {
  const date = new Date(time);
  const utc = Number.isNaN(date.getTime()) ? "" : date.toISOString();
  if (/^\d/.test(utc) && utc >= earliest) return utc;
  throw new InvalidMemoryError("time", ["expected a time of the years 1 to 9999"]);
}

/** A copy of plain JSON. @throws InvalidMemoryError for anything else, and for what is too large or too deep. */
function checkJson(
  path: string,
  value: Readonly<Record<string, unknown>> | null | undefined,
): Readonly<Record<string, unknown>> | null {
  if (value === undefined || value === null) return null;
  const problem = isRecord(value) ? jsonProblem(value) : "expected an object";
  if (problem !== null) throw new InvalidMemoryError("entry", [`${path}: ${problem}`]);
  return JSON.parse(JSON.stringify(value)) as Record<string, unknown>;
}
