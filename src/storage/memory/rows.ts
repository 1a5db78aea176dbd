import { createHash } from "node:crypto";
import { endianness } from "node:os";
import type { CheckedEntry } from "../../memory/check-entry.ts";
import type { MemoryEntry, MemoryMetadata } from "../../memory/entry.ts";
import type { IndexedEntry, MemoryFilter } from "../../memory/store.ts";

/** A row of an entry as statements with {@link entryColumns} read it. */
export interface EntryRow {
  readonly id: string;
  readonly tenant_id: string;
  readonly namespace: string[];
  readonly key: string;
  readonly instance_id: string | null;
  readonly thread_id: string | null;
  readonly memory_type: MemoryEntry["memory_type"];
  readonly content: string;
  readonly summary: string | null;
  readonly embedding_model: string | null;
  readonly importance: number;
  readonly access_count: number;
  readonly last_accessed: Date | null;
  readonly last_score: number | null;
  readonly metadata: Omit<MemoryMetadata, "data">;
  readonly data: Readonly<Record<string, unknown>> | null;
  readonly value: Readonly<Record<string, unknown>> | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly expires_at: Date | null;
}

export const entryColumns = `e.id, e.tenant_id, e.namespace, e.key, e.instance_id, e.thread_id, e.memory_type, e.content,
  e.summary, e.embedding_model, e.importance, e.access_count, e.last_accessed, e.last_score, e.metadata, e.data, e.value,
  e.created_at, e.updated_at, e.expires_at`;

export function toEntry({ data, metadata, ...row }: EntryRow): MemoryEntry {
  return {
    ...row,
    last_accessed: row.last_accessed?.toISOString() ?? null,
    metadata: data === null ? metadata : { ...metadata, data },
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    expires_at: row.expires_at?.toISOString() ?? null,
  };
}

export type IndexedRow = Omit<EntryRow, "value"> & { readonly embedding?: Buffer | null };

export const indexedColumns = `e.id, e.namespace, e.thread_id, e.memory_type, e.content, e.importance, e.last_accessed,
  e.metadata, e.data, e.created_at, e.expires_at, e.embedding_model`;

export function toIndexedEntry(row: IndexedRow): IndexedEntry {
  const { id, namespace, thread_id, memory_type, content, importance, embedding_model } = row;
  return {
    id,
    namespace,
    thread_id,
    memory_type,
    content,
    importance,
    last_accessed: row.last_accessed?.toISOString() ?? null,
    metadata: row.data === null ? row.metadata : { ...row.metadata, data: row.data },
    created_at: row.created_at.toISOString(),
    expires_at: row.expires_at?.toISOString() ?? null,
    embedding_model,
    vector: row.embedding ? fromBytes(row.embedding) : null,
  };
}

/** The columns of a new entry, for `json_to_recordset`. */
export const newRowType = `id uuid, namespace text[], path text, key text, key_hash bytea, instance_id text, thread_id text,
  memory_type text, content text, summary text, importance double precision, metadata jsonb, data text, value text,
  embedding bytea, embedding_model text, dimensions integer, created_at timestamptz, updated_at timestamptz,
  expires_at timestamptz`;

/** A new entry as a row of {@link newRowType}. */
export function toNewRow({ entry, vector }: CheckedEntry) {
  return {
    id: entry.id,
    namespace: entry.namespace,
    path: pathOf(entry.namespace),
    key: entry.key,
    key_hash: `\\x${keyHash(entry).toString("hex")}`,
    instance_id: entry.instance_id,
    thread_id: entry.thread_id,
    memory_type: entry.memory_type,
    content: entry.content,
    summary: entry.summary,
    importance: entry.importance,
    ...toMetadataRow(entry.metadata),
    value: entry.value && JSON.stringify(entry.value),
    ...toVectorRow(vector),
    created_at: entry.created_at,
    updated_at: entry.updated_at,
    expires_at: entry.expires_at,
  };
}

export function toMetadataRow({ data, ...metadata }: MemoryMetadata) {
  // As a text within the JSON: its escapes may stand for characters that no text of Postgres holds.
  return { metadata, data: data === undefined ? null : JSON.stringify(data) };
}

export function toVectorRow(vector: CheckedEntry["vector"]) {
  return {
    embedding: vector && `\\x${toBytes(vector.vector).toString("hex")}`,
    embedding_model: vector?.model ?? null,
    dimensions: vector?.vector.length ?? null,
  };
}

/** The hash by which a namespace has a key once. */
export function keyHash({ namespace, key }: Pick<MemoryEntry, "namespace" | "key">): Buffer {
  return createHash("sha256")
    .update(JSON.stringify([namespace, key]))
    .digest();
}

const SEPARATOR = "\u0001";
const AFTER_SEPARATOR = "\u0002";

/** Characters of a path, so that it fits into an index. */
const maxPath = 300;

/** The beginning of a namespace as one text. */
function pathOf(namespace: readonly string[]): string {
  const path = namespace.map((label) => label + SEPARATOR).join("");
  return path.length <= maxPath ? path : Array.from(path).slice(0, maxPath).join("");
}

/** Collects the values of a statement. */
export class Values {
  readonly list: unknown[] = [];

  /** Returns the placeholder of a value. */
  add(value: unknown, type: string): string {
    return `$${this.list.push(value)}::${type}`;
  }
}

export interface FilterOptions {
  readonly tenantId: string;
  /** ISO 8601; null to select expired entries as well. */
  readonly now: string | null;
}

/** The condition of a checked filter on entries `e`. */
export function conditionOf(
  filter: MemoryFilter,
  { tenantId, now }: FilterOptions,
  values: Values,
): string {
  const { namespace, exact = false, ids, keys, types, tags, source, since, until } = filter;
  // Row-level security has this condition too; here it selects the partition when the statement is planned.
  const parts = [`e.tenant_id = ${values.add(tenantId, "uuid")}`];
  if (now !== null)
    parts.push(`(e.expires_at is null or e.expires_at > ${values.add(now, "timestamptz")})`);
  if (namespace !== undefined && namespace.length > 0) {
    const path = pathOf(namespace);
    const prefix = values.add(namespace, "text[]");
    if (path.endsWith(SEPARATOR)) {
      const end = path.slice(0, -1) + AFTER_SEPARATOR;
      parts.push(`e.path >= ${values.add(path, "text")} and e.path < ${values.add(end, "text")}`);
    } else parts.push(`e.path = ${values.add(path, "text")}`);
    parts.push(
      exact ? `e.namespace = ${prefix}` : `e.namespace[1:${namespace.length}] = ${prefix}`,
    );
    // The index of keys has no part of a namespace.
    if (exact && keys) {
      const hashes = keys.map((key) => keyHash({ namespace, key }));
      parts.push(`e.key_hash = any(${values.add(hashes, "bytea[]")})`);
    }
  } else if (namespace !== undefined && exact) parts.push("false");
  if (ids) parts.push(`e.id = any(${values.add(ids, "uuid[]")})`);
  if (keys) parts.push(`e.key = any(${values.add(keys, "text[]")})`);
  if (types) parts.push(`e.memory_type = any(${values.add(types, "text[]")})`);
  if (filter.threadId !== undefined)
    parts.push(`e.thread_id = ${values.add(filter.threadId, "text")}`);
  if (filter.instanceId !== undefined)
    parts.push(`e.instance_id = ${values.add(filter.instanceId, "text")}`);
  if (source !== undefined) parts.push(`e.metadata ->> 'source' = ${values.add(source, "text")}`);
  if (tags) parts.push(`e.metadata -> 'tags' @> ${values.add(JSON.stringify(tags), "jsonb")}`);
  if (since !== undefined) parts.push(`e.created_at >= ${values.add(since, "timestamptz")}`);
  if (until !== undefined) parts.push(`e.created_at < ${values.add(until, "timestamptz")}`);
  return parts.join(" and ");
}

const isBigEndian = endianness() === "BE";

/** The bytes of a vector: 32-bit floats, little-endian. */
export function toBytes(vector: Float32Array): Buffer {
  const bytes = Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength);
  return isBigEndian ? Buffer.from(bytes).swap32() : bytes;
}

export function fromBytes(bytes: Buffer): Float32Array {
  const copy = new Uint8Array(bytes);
  if (isBigEndian) Buffer.from(copy.buffer).swap32();
  return new Float32Array(copy.buffer);
}
