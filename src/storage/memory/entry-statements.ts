import type { ConsolidationPlan } from "../../memory/apply-changes.ts";
import { type CheckedEntry, idTaken } from "../../memory/check-entry.ts";
import type { MemoryEntry, MemoryVector } from "../../memory/entry.ts";
import { MemoryDimensionError } from "../../memory/errors.ts";
import type { MemoryUse } from "../../memory/store.ts";
import { sqlStateOf } from "../errors.ts";
import {
  entryColumns,
  type EntryRow,
  keyHash,
  newRowType,
  toBytes,
  toEntry,
  toMetadataRow,
  toNewRow,
  toVectorRow,
} from "./rows.ts";
import type { TenantTransaction } from "./transaction.ts";

/** Entries of a statement at most: a text that Postgres is sent has a limit, and so has memory. */
const batch = 500;

const newColumns = `id, namespace, path, key, key_hash, instance_id, thread_id, memory_type, content, summary, importance,
  metadata, data, value, embedding, embedding_model, dimensions, created_at, updated_at, expires_at`;

const archiveColumns = `tenant_id, ${newColumns}, access_count, last_accessed, last_score`;

export interface StoredEntry {
  readonly id: string;
  readonly isNew: boolean;
}

/**
 * Inserts the entries whose keys are free, or belong to expired entries. Returns what has each key, in the order of
 * `entries`. Keys are locked in their order, so that two transactions never wait for each other.
 *
 * @throws InvalidMemoryError if an id is that of an entry with another key
 */
export async function insertEntries(
  at: TenantTransaction,
  entries: readonly CheckedEntry[],
): Promise<readonly StoredEntry[]> {
  const hashes = entries.map(({ entry }) => keyHash(entry).toString("hex"));
  const byHash = new Map<string, CheckedEntry>();
  for (const [index, entry] of entries.entries()) {
    const hash = hashes[index]!;
    if (!byHash.has(hash)) byHash.set(hash, entry);
  }
  const stored = new Map<string, StoredEntry>();
  const keys = [...byHash.keys()].toSorted();
  for (let from = 0; from < keys.length; from += batch) {
    let open = keys.slice(from, from + batch);
    while (open.length > 0) {
      const rows = open.map((hash) => toNewRow(byHash.get(hash)!));
      const inserted = await insertRows(at, rows);
      for (const { id, key_hash } of inserted) stored.set(key_hash, { id, isNew: true });
      await at.vectors?.write(
        at,
        new Map(inserted.map(({ id, key_hash }) => [id, byHash.get(key_hash)!.vector])),
      );
      open = open.filter((hash) => !stored.has(hash));
      if (open.length === 0) break;
      // Taken keys. One whose entry was removed meanwhile, or has expired, is tried again.
      for (const { id, key_hash } of await keepersOf(at, open))
        stored.set(key_hash, { id, isNew: false });
      open = open.filter((hash) => !stored.has(hash));
    }
  }
  const reported = new Set<string>();
  return hashes.map((hash) => {
    const { id, isNew } = stored.get(hash)!;
    const isFirst = !reported.has(hash);
    reported.add(hash);
    return { id, isNew: isNew && isFirst };
  });
}

interface KeyRow {
  readonly id: string;
  readonly key_hash: string;
}

async function insertRows(
  { client, schema, tenantId, vectors }: TenantTransaction,
  rows: readonly ReturnType<typeof toNewRow>[],
): Promise<readonly KeyRow[]> {
  try {
    const result = await client.query<KeyRow>(
      `insert into ${schema}.memory_entry (tenant_id, is_indexed, ${newColumns})
      select $1::uuid, $3::boolean, ${newColumns.replace("data, value", "data::json, value::json")}
      from json_to_recordset($2::json) as entry(${newRowType})
      on conflict (tenant_id, key_hash) do nothing returning id, encode(key_hash, 'hex') as key_hash`,
      [tenantId, JSON.stringify(rows), vectors !== null],
    );
    return result.rows;
  } catch (error) {
    if (sqlStateOf(error) !== UNIQUE_VIOLATION) throw error;
    // The only other unique index.
    const taken = /\)=\([^,]*, ([^)]*)\)/.exec((error as { detail?: string }).detail ?? "");
    throw idTaken(taken?.[1] ?? rows[0]!.id);
  }
}

const UNIQUE_VIOLATION = "23505";

/** The entries that have keys. Expired ones are removed instead. */
async function keepersOf(at: TenantTransaction, hashes: readonly string[]) {
  const { client, schema, tenantId, now } = at;
  const { rows } = await client.query<KeyRow & { is_expired: boolean }>(
    `select id, encode(key_hash, 'hex') as key_hash, coalesce(expires_at <= $3::timestamptz, false) as is_expired
    from ${schema}.memory_entry where tenant_id = $1::uuid and key_hash = any($2::bytea[]) order by id`,
    [tenantId, hashes.map((hash) => Buffer.from(hash, "hex")), now],
  );
  const expired = rows.filter(({ is_expired }) => is_expired).map(({ id }) => id);
  if (expired.length > 0) {
    await lockEntries(at, expired);
    await client.query(
      `with gone as (
        delete from ${schema}.memory_entry
        where tenant_id = $1::uuid and id = any($2::uuid[]) and expires_at <= $3::timestamptz returning id
      )
      delete from ${schema}.memory_use where tenant_id = $1::uuid and entry_id in (select id from gone)`,
      [tenantId, expired, now],
    );
  }
  return rows.filter(({ is_expired }) => !is_expired);
}

/** Locks rows in the order of their ids, so that two transactions never wait for each other. */
export async function lockEntries(
  { client, schema, tenantId, now }: TenantTransaction,
  ids: readonly string[],
): Promise<ReadonlyMap<string, MemoryEntry>> {
  const { rows } = await client.query<EntryRow>(
    `select ${entryColumns} from ${schema}.memory_entry e where e.tenant_id = $1::uuid and e.id = any($2::uuid[])
    order by e.id for update`,
    [tenantId, ids],
  );
  const entries = rows.map(toEntry).filter(({ expires_at: at }) => at === null || at > now);
  return new Map(entries.map((entry) => [entry.id, entry]));
}

/** Replaces what `put` replaces in the entry with a key. False if it is gone. */
export async function replaceEntry(
  at: TenantTransaction,
  id: string,
  { entry, vector }: CheckedEntry,
): Promise<boolean> {
  const { client, schema, tenantId, now, vectors } = at;
  const { metadata, data } = toMetadataRow(entry.metadata);
  const { embedding_model, dimensions } = toVectorRow(vector);
  const { rowCount } = await client.query(
    `update ${schema}.memory_entry set content = $3::text, summary = $4::text, value = $5::json, metadata = $6::jsonb,
      data = $7::json, memory_type = $8::text, expires_at = $9::timestamptz, embedding = $10::bytea,
      embedding_model = $11::text, dimensions = $12::integer, is_indexed = $14::boolean, ${written("$13")}
    where tenant_id = $1::uuid and id = $2::uuid`,
    [
      tenantId,
      id,
      entry.content,
      entry.summary,
      entry.value && JSON.stringify(entry.value),
      JSON.stringify(metadata),
      data,
      entry.memory_type,
      entry.expires_at,
      vector && toBytes(vector.vector),
      embedding_model,
      dimensions,
      now,
      vectors !== null,
    ],
  );
  if (rowCount !== 1) return false;
  await vectors?.write(at, new Map([[id, vector]]));
  return true;
}

/** Sets the time of a write, which differs from the one before, and its transaction. */
export function written(now: string): string {
  return `updated_at = greatest(${now}::timestamptz, updated_at + interval '1 millisecond'),
    changed = pg_current_xact_id()`;
}

/** Sets vectors of entries that are there. */
export async function writeVectors(
  at: TenantTransaction,
  vectors: ReadonlyMap<string, MemoryVector | null>,
): Promise<void> {
  const { client, schema, tenantId } = at;
  const rows = [...vectors].map(([id, vector]) => ({ id, ...toVectorRow(vector) }));
  for (let from = 0; from < rows.length; from += batch) {
    await client.query(
      `update ${schema}.memory_entry e set embedding = v.embedding, embedding_model = v.embedding_model,
        dimensions = v.dimensions, is_indexed = $3::boolean, changed = pg_current_xact_id()
      from json_to_recordset($2::json) as v(id uuid, embedding bytea, embedding_model text, dimensions integer)
      where e.tenant_id = $1::uuid and e.id = v.id`,
      [tenantId, JSON.stringify(rows.slice(from, from + batch)), at.vectors !== null],
    );
  }
  await at.vectors?.write(at, vectors);
}

/**
 * Checks that the vectors of each model have the same dimensions, and registers new models. Returns the dimensions by
 * model, which hold once the transaction is committed.
 *
 * @throws MemoryDimensionError
 */
export async function checkDimensions(
  { client, schema, tenantId }: TenantTransaction,
  vectors: readonly (MemoryVector | null | undefined)[],
  known: ReadonlyMap<string, number>,
): Promise<ReadonlyMap<string, number>> {
  const found = vectors.filter((one) => one !== null && one !== undefined);
  const first = new Map(found.toReversed().map(({ model, vector }) => [model, vector.length]));
  const unknown = [...first.keys()].filter((model) => !known.has(model)).toSorted();
  const dimensions = new Map(known);
  if (unknown.length > 0) {
    await client.query(
      `insert into ${schema}.memory_model (tenant_id, model, dimensions)
      select $1::uuid, model, dimensions from unnest($2::text[], $3::integer[]) as new(model, dimensions)
      on conflict (tenant_id, model) do nothing`,
      [tenantId, unknown, unknown.map((model) => first.get(model))],
    );
    const { rows } = await client.query<{ model: string; dimensions: number }>(
      `select model, dimensions from ${schema}.memory_model where tenant_id = $1::uuid and model = any($2::text[])`,
      [tenantId, unknown],
    );
    for (const row of rows) dimensions.set(row.model, row.dimensions);
  }
  for (const { model, vector } of found) {
    const expected = dimensions.get(model)!;
    if (expected !== vector.length)
      throw new MemoryDimensionError(model, expected.toLocaleString("en"), vector.length);
  }
  return dimensions;
}

/** Counts uses of entries that are there, once for each entry and run. */
export async function countUses(at: TenantTransaction, uses: readonly MemoryUse[]): Promise<void> {
  const { client, schema, tenantId, now } = at;
  const present = await lockEntries(at, [...new Set(uses.map(({ id }) => id))]);
  const rows = uses
    .filter(({ id }) => present.has(id))
    .map(({ id, run, threadId, score }, order) => ({ id, run, thread_id: threadId, score, order }));
  if (rows.length === 0) return;
  await client.query(
    `with use as (
      select * from json_to_recordset($2::json) as r(id uuid, run text, thread_id text, score double precision, "order" integer)
    ), counted as (
      insert into ${schema}.memory_use (tenant_id, entry_id, run, thread_id, at, score)
      select $1::uuid, id, run, thread_id, $3::timestamptz, score from use
      on conflict (tenant_id, entry_id, run) do nothing returning entry_id, run
    ), sums as (
      select c.entry_id, count(*)::integer as uses, (array_agg(u.score order by u."order" desc))[1] as score
      from counted c join use u on u.id = c.entry_id and u.run = c.run group by c.entry_id
    )
    update ${schema}.memory_entry e set access_count = e.access_count + s.uses, last_accessed = $3::timestamptz,
      last_score = s.score, changed = pg_current_xact_id()
    from sums s where e.tenant_id = $1::uuid and e.id = s.entry_id`,
    [tenantId, JSON.stringify(rows), now],
  );
}

/** Removes entries, archived copies and uses by id. Returns the threads that used them, oldest use first, and how often. */
export async function removeEntries(
  { client, schema, tenantId }: TenantTransaction,
  ids: readonly string[],
): Promise<readonly { readonly thread_id: string | null; readonly uses: number }[]> {
  const { rows } = await client.query<{ thread_id: string | null; uses: number }>(
    `with entries as (
      delete from ${schema}.memory_entry where tenant_id = $1::uuid and id = any($2::uuid[])
    ), copies as (
      delete from ${schema}.memory_archive where tenant_id = $1::uuid and id = any($2::uuid[])
    ), uses as (
      delete from ${schema}.memory_use where tenant_id = $1::uuid and entry_id = any($2::uuid[]) returning thread_id, at
    )
    select thread_id, count(*)::integer as uses from uses group by thread_id order by min(at), thread_id`,
    [tenantId, ids],
  );
  return rows;
}

/** Writes what a consolidation has decided; the entries are locked. */
export async function writePlan(
  at: TenantTransaction,
  { updates, removals }: ConsolidationPlan,
): Promise<void> {
  const { client, schema, tenantId, now } = at;
  const rows = [...updates.values()].map(({ entry }) => ({
    id: entry.id,
    memory_type: entry.memory_type,
    importance: entry.importance,
    content: entry.content,
    summary: entry.summary,
    access_count: entry.access_count,
    last_accessed: entry.last_accessed,
    ...toMetadataRow(entry.metadata),
    updated_at: entry.updated_at,
  }));
  if (rows.length > 0)
    await client.query(
      `update ${schema}.memory_entry e set memory_type = n.memory_type, importance = n.importance, content = n.content,
        summary = n.summary, access_count = n.access_count, last_accessed = n.last_accessed, metadata = n.metadata,
        updated_at = n.updated_at, changed = pg_current_xact_id()
      from json_to_recordset($2::json) as n(id uuid, memory_type text, importance double precision, content text,
        summary text, access_count integer, last_accessed timestamptz, metadata jsonb, updated_at timestamptz)
      where e.tenant_id = $1::uuid and e.id = n.id`,
      [tenantId, JSON.stringify(rows)],
    );
  const vectors = [...updates].flatMap(([id, { vector }]) =>
    vector === undefined ? [] : ([[id, vector]] as const),
  );
  if (vectors.length > 0) await writeVectors(at, new Map(vectors));
  if (removals.size === 0) return;
  const gone = [...removals].map(([id, { archive, into = null }]) => ({ id, archive, into }));
  const archived = gone.filter(({ archive }) => archive).map(({ id }) => id);
  if (archived.length > 0) {
    await client.query(
      `delete from ${schema}.memory_archive where tenant_id = $1::uuid and id = any($2::uuid[])`,
      [tenantId, archived],
    );
    await client.query(
      `insert into ${schema}.memory_archive (${archiveColumns}, archived_at)
      select ${archiveColumns}, $3::timestamptz from ${schema}.memory_entry
      where tenant_id = $1::uuid and id = any($2::uuid[])`,
      [tenantId, archived, now],
    );
  }
  await client.query(
    `with gone as (
      select * from json_to_recordset($2::json) as r(id uuid, archive boolean, "into" uuid)
    ), entries as (
      delete from ${schema}.memory_entry e using gone g where e.tenant_id = $1::uuid and e.id = g.id
    ), uses as (
      delete from ${schema}.memory_use u using gone g
      where u.tenant_id = $1::uuid and u.entry_id = g.id and not g.archive returning u.*, g."into"
    )
    insert into ${schema}.memory_use (tenant_id, entry_id, run, thread_id, at, score)
    select distinct on ("into", run) tenant_id, "into", run, thread_id, at, score from uses where "into" is not null
    order by "into", run, at on conflict (tenant_id, entry_id, run) do nothing`,
    [tenantId, JSON.stringify(gone)],
  );
}

/** Removes expired entries and their uses, of one tenant where row-level security says so. */
export function sweepStatement(schema: string): string {
  return `with gone as (
      select tenant_id, id from ${schema}.memory_entry where expires_at <= $1::timestamptz order by id for update
    ), entries as (
      delete from ${schema}.memory_entry e using gone g where e.tenant_id = g.tenant_id and e.id = g.id
      returning e.tenant_id, e.id
    ), old as (
      select tenant_id, id from ${schema}.memory_archive where expires_at <= $1::timestamptz order by id for update
    ), copies as (
      delete from ${schema}.memory_archive a using old o where a.tenant_id = o.tenant_id and a.id = o.id
      returning a.tenant_id, a.id
    ), uses as (
      delete from ${schema}.memory_use u using (select * from entries union select * from copies) g
      where u.tenant_id = g.tenant_id and u.entry_id = g.id
    )
    select ((select count(*) from entries) + (select count(*) from copies))::integer as removed`;
}
