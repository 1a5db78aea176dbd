import type { PruneOptions, PruneResult } from "../../src/durable-saver.ts";
import { removeBlobs } from "../blobs.ts";
import { retryConflicts } from "../queries.ts";
import type { Queryable } from "../../src/storage/pool.ts";
import { uuidV6Timestamp } from "../config.ts";
import { InvalidRetentionError } from "../errors.ts";
import { type CheckpointTables, transaction } from "../tables.ts";
import { type HistoryEntry, removableCheckpoints } from "./removable.ts";

/**
 * Removes checkpoints of a thread, and what only they needed. What a kept checkpoint needs stays with it: the newest
 * checkpoints of its subgraphs, so that interrupts in them can be answered, and the ancestors from whose writes delta
 * channels are put together. Children of removed checkpoints go on naming their parents.
 *
 * Runs may go on meanwhile, also from a checkpoint that goes: see `alone`.
 *
 * @throws {InvalidRetentionError}
 */
export async function prune(tables: CheckpointTables, options: PruneOptions): Promise<PruneResult> {
  const { schema } = tables;
  const { threadId, keep, olderThan } = options;
  checkRetention(options);
  const work = async (client: Queryable, logs: readonly string[]) => {
    let removed = { checkpoints: 0, bytes: 0 };
    if (keep !== "all") {
      const history = await readHistory(client, schema, threadId);
      removed = await remove(
        client,
        { schema, threadId },
        removableCheckpoints(history, { keep, olderThan }),
      );
    }
    const freed = await freeUnneeded(client, schema, { threadId, logs });
    return {
      checkpoints: removed.checkpoints,
      elements: freed.elements,
      bytes: removed.bytes + freed.bytes,
    };
  };
  return alone(tables, threadId, { look: logsOf, work });
}

/** Removes checkpoints of the thread itself, and what only they needed. Those that are not there are fine. */
export async function removeCheckpoints(
  tables: CheckpointTables,
  {
    threadId,
    checkpointIds,
  }: { readonly threadId: string; readonly checkpointIds: readonly string[] },
): Promise<PruneResult> {
  const { schema } = tables;
  const work = async (client: Queryable, logs: readonly string[]) => {
    const entries = checkpointIds.map((id) => ({ namespace: "", id }));
    const removed = await remove(client, { schema, threadId }, entries);
    const { elements, bytes } = await freeUnneeded(client, schema, { threadId, logs });
    return { checkpoints: removed.checkpoints, elements, bytes: removed.bytes + bytes };
  };
  return alone(tables, threadId, { look: logsOf, work });
}

/** A misspelt `keep` must not remove more than was meant. */
function checkRetention({ keep, olderThan }: PruneOptions): void {
  if (!["latest", "turn_ends", "all"].includes(keep)) {
    throw new InvalidRetentionError("keep", keep);
  }
  if (olderThan !== undefined && Number.isNaN(olderThan.getTime())) {
    throw new InvalidRetentionError("olderThan", olderThan);
  }
}

async function readHistory(
  client: Queryable,
  schema: string,
  threadId: string,
): Promise<HistoryEntry[]> {
  const { rows } = await client.query<HistoryEntry>(historySql(schema), [threadId]);
  return rows.map((row) => ({ ...row, createdAt: uuidV6Timestamp(row.id) ?? row.createdAt }));
}

/** In the order in which the newest is looked for. */
function historySql(schema: string): string {
  return `
select checkpoint_ns as namespace, checkpoint_id as id, parent_checkpoint_id as "parentId",
  coalesce(summary ->> 'at', checkpoint ->> 'ts') as "createdAt",
  case when checkpoint_ns <> '' then metadata -> 'parents' ->> '' end as "rootId",
  metadata ->> 'source' as source, summary ->> 'status' as status,
  array(select jsonb_object_keys(
    case jsonb_typeof(metadata -> 'counters_since_delta_snapshot')
      when 'object' then metadata -> 'counters_since_delta_snapshot' end)) as "deltaChannels"
from ${schema}.checkpoints where thread_id = $1
order by checkpoint_id`;
}

/** Removes checkpoints with their pending writes. Only within {@link alone}. */
export async function remove(
  client: Queryable,
  of: { readonly schema: string; readonly threadId: string },
  entries: readonly Pick<HistoryEntry, "namespace" | "id">[],
): Promise<{ checkpoints: number; bytes: number }> {
  const { rows } = await client.query<{ checkpoints: string; bytes: string }>(
    removeSql(of.schema),
    [of.threadId, entries.map(({ namespace }) => namespace), entries.map(({ id }) => id)],
  );
  return { checkpoints: Number(rows[0]!.checkpoints), bytes: Number(rows[0]!.bytes) };
}

function removeSql(schema: string): string {
  return `
with
removable as (
  select distinct checkpoint_ns, checkpoint_id
  from unnest($2::text[], $3::text[]) as entry (checkpoint_ns, checkpoint_id)
),
checkpoints as (
  delete from ${schema}.checkpoints c using removable r
  where c.thread_id = $1 and c.checkpoint_ns = r.checkpoint_ns and c.checkpoint_id = r.checkpoint_id
  returning octet_length(coalesce(c.body, convert_to(c.checkpoint::text, 'UTF8'))) as bytes
),
write_sets as (
  delete from ${schema}.checkpoint_write_sets w using removable r
  where w.thread_id = $1 and w.checkpoint_ns = r.checkpoint_ns and w.checkpoint_id = r.checkpoint_id
  returning octet_length(w.body) as bytes
),
-- Checkpoints of the stock class in old formats start with tasks that stand in their parent's writes.
starting as (
  select c.checkpoint_ns, c.parent_checkpoint_id from ${schema}.checkpoints c
  where c.thread_id = $1 and c.body is null and c.checkpoint -> 'v' < '4'::jsonb
    and not exists (
      select from removable r
      where r.checkpoint_ns = c.checkpoint_ns and r.checkpoint_id = c.checkpoint_id)
),
writes as (
  delete from ${schema}.checkpoint_writes w using removable r
  where w.thread_id = $1 and w.checkpoint_ns = r.checkpoint_ns and w.checkpoint_id = r.checkpoint_id
    and not (w.channel = '__pregel_tasks' and exists (
      select from starting s
      where s.checkpoint_ns = w.checkpoint_ns and s.parent_checkpoint_id = w.checkpoint_id))
  returning octet_length(w.blob) as bytes
),
removed as (
  select 1 as checkpoint, bytes from checkpoints
  union all select 0, bytes from write_sets
  union all select 0, bytes from writes
)
select coalesce(sum(checkpoint), 0) as checkpoints, coalesce(sum(bytes), 0) as bytes from removed`;
}

/**
 * Removes a thread: its checkpoints in all namespaces, their pending writes, and the elements that no other thread refers
 * to. Threads that share its past, as its forks do, stay whole. A thread that is not there is fine.
 */
export async function deleteThread(tables: CheckpointTables, threadId: string): Promise<void> {
  const { schema } = tables;
  const work = async (client: Queryable, logs: readonly string[]) => {
    await client.query(
      `with write_sets as (delete from ${schema}.checkpoint_write_sets where thread_id = $1),
        writes as (delete from ${schema}.checkpoint_writes where thread_id = $1)
      delete from ${schema}.checkpoints where thread_id = $1`,
      [threadId],
    );
    // A checkpoint put after the look, and removed above, may be the only one that referred to its log.
    const { rows } = await client.query<{ log: string }>(
      `select log_id as log from ${schema}.checkpoint_log_uses u where thread_id = $1 and not exists (
        select from ${schema}.checkpoint_log_uses o where o.log_id = u.log_id and o.thread_id <> $1)`,
      [threadId],
    );
    const unshared = rows.map(({ log }) => log);
    await freeUnneeded(client, schema, { threadId, logs: [...new Set([...logs, ...unshared])] });
    await removeBlobs(client, schema, threadId);
    // A checkpoint that was put meanwhile stays, and so does what it says of the logs it refers to.
    await client.query(
      `delete from ${schema}.checkpoint_log_uses u where u.thread_id = $1 and not exists (
        select from ${schema}.checkpoints c, generate_series(1, cardinality(c.segments), 3) n
        where c.thread_id = $1 and c.segments[n] = u.log_id)`,
      [threadId],
    );
  };
  await alone(tables, threadId, { look: logsOfItsOwn, work });
}

/** What was removed from the database. */
export interface Freed {
  /** Elements of logs, and channel values of the stock class. */
  readonly elements: number;
  /** Bytes, as they were before the database compressed them. */
  readonly bytes: number;
}

/**
 * Removes the elements that no checkpoint of any thread refers to from the given logs, and the thread's values of the
 * stock class that none of its checkpoints names. It looks at what is there, not at what was removed, so leftovers of any
 * origin go too. Only within `alone`, after the statement that removed checkpoints.
 */
export async function freeUnneeded(
  client: Queryable,
  schema: string,
  { threadId, logs }: { readonly threadId: string; readonly logs: readonly string[] },
): Promise<Freed> {
  const { rows } = await client.query<{ elements: string; bytes: string }>(freeSql(schema), [
    threadId,
    logs,
  ]);
  return { elements: Number(rows[0]!.elements), bytes: Number(rows[0]!.bytes) };
}

/** `not exists` throughout, which the planner turns into joins of any size; `not in` it would not. */
function freeSql(schema: string): string {
  return `
with
mine as (select unnest($2::bigint[]) as log_id),
sharing as (
  select distinct thread_id from ${schema}.checkpoint_log_uses join mine using (log_id)
),
-- Segments stand in the arrays as log, from, to, log, from, to, and so on. Read place by place, an array that is stored
-- compressed would be unpacked for each; what the concatenation gives is unpacked for good.
-- Thread by thread through the primary key: of a table that was never analysed the planner would read all.
referring as (
  select c.flat from sharing cross join lateral (
    select segments || array[]::bigint[] as flat from ${schema}.checkpoints
    where thread_id = sharing.thread_id offset 0
  ) c
),
ranges as materialized (
  select distinct flat[place] as log_id,
    flat[place + 1] as start, flat[place + 2] as stop
  from referring cross join lateral generate_series(1, cardinality(flat), 3) as place
  -- What a damaged row has beside is nothing that could be needed.
  where flat[place + 1] >= 0 and flat[place + 1] < flat[place + 2] and flat[place + 2] <= 2147483647
),
needed as (
  select log_id, range_agg(int4range(start::integer, stop::integer)) as idxs
  from ranges group by log_id
),
logs as (select mine.log_id, needed.idxs from mine left join needed using (log_id)),
elements as (
  delete from ${schema}.checkpoint_elements e using logs
  where e.log_id = logs.log_id and (logs.idxs is null or not logs.idxs @> e.idx)
  returning octet_length(e.blob) as bytes
),
versions as (
  select distinct c.checkpoint_ns, named.channel, named.version from ${schema}.checkpoints c
  cross join lateral jsonb_each_text(
    case jsonb_typeof(c.checkpoint -> 'channel_versions')
      when 'object' then c.checkpoint -> 'channel_versions' end
  ) as named (channel, version)
  where c.thread_id = $1 and c.body is null
),
blobs as (
  delete from ${schema}.checkpoint_blobs b
  where b.thread_id = $1 and not exists (
    select from versions v
    where v.checkpoint_ns = b.checkpoint_ns and v.channel = b.channel and v.version = b.version)
  returning octet_length(b.blob) as bytes
),
freed as (select bytes from elements union all select bytes from blobs)
select count(*) as elements, coalesce(sum(bytes), 0) as bytes from freed`;
}

/**
 * Runs `work`, which removes checkpoints of a thread, in a transaction of its own, on these conditions:
 *
 * - Who refers to elements of a checkpoint that is there holds the checkpoint's row `for key share` until the reference
 *   is committed: a fork the rows it copies, a put its parent. A put refers to elements of its parent, and to what it
 *   writes itself.
 * - So nothing refers to elements of this thread anew while `work` runs: the rows are locked here, in a statement of
 *   its own, so that those that follow see all that was committed before. Who waits for a row that `work` removes
 *   finds it gone: a fork has nothing to copy, and a put, whose run began at a checkpoint that was then removed, has to
 *   write all that it holds.
 * - Removals that look at the same logs wait too: two that each counted on the other to keep an element, or to free it,
 *   would both be wrong.
 *
 * Rows are locked in one order, so that two of these cannot wait for each other. Should
 * the database still end one of several that wait for each other, it is run again.
 *
 * @param look the logs to search for unreferenced elements
 */
export async function alone<Result>(
  { pool, schema }: CheckpointTables,
  threadId: string,
  {
    look,
    work,
  }: {
    readonly look: LookUp;
    readonly work: (client: Queryable, logs: readonly string[]) => Promise<Result>;
  },
): Promise<Result> {
  const removal = () =>
    transaction(pool, async (client) => {
      // The statements that follow look expensive while tables are unknown, and compiling them would take most of a second.
      await client.query("set local jit = off");
      await client.query(
        `select count(*) from (
        select from ${schema}.checkpoints where thread_id = $1
        order by checkpoint_ns, checkpoint_id for update
      ) as locked`,
        [threadId],
      );
      const logs = await look(client, schema, threadId);
      await client.query(
        `select count(*) from (
        select from ${schema}.checkpoint_log_uses where log_id = any($1::bigint[]) or thread_id = $2
        order by log_id, thread_id for update
      ) as locked`,
        [logs, threadId],
      );
      return work(client, logs);
    });
  return retryConflicts(removal);
}

type LookUp = (client: Queryable, schema: string, threadId: string) => Promise<readonly string[]>;

/** The logs that a thread uses. */
export const logsOf: LookUp = async (client, schema, threadId) => {
  const { rows } = await client.query<{ log: string }>(
    `select log_id as log from ${schema}.checkpoint_log_uses where thread_id = $1`,
    [threadId],
  );
  return rows.map(({ log }) => log);
};

/** Threads that are asked whether they need a log's elements too. */
const WITNESSES = 4;

/**
 * The logs that a thread uses, without those of which other threads need all that it needs: nothing of them is freed
 * where the thread goes. That is so of most forks, and is known from the newest checkpoints of a few threads, however
 * many share the log. Those checkpoints are held, so that they stay as they are until this is committed; one that is
 * about to be removed is passed over.
 */
const logsOfItsOwn: LookUp = async (client, schema, threadId) => {
  const { rows } = await client.query<{ log: string }>(
    `with needed as materialized (
      select flat[place] as log_id, range_agg(int8range(flat[place + 1], flat[place + 2])) as idxs
      from (
        select segments || array[]::bigint[] as flat from ${schema}.checkpoints where thread_id = $1 offset 0
      ) c cross join lateral generate_series(1, cardinality(flat), 3) place
      where flat[place + 1] < flat[place + 2]
      group by 1
    ), witnesses as materialized (
      select n.log_id, w.segments from needed n
      cross join lateral (
        select u.thread_id from ${schema}.checkpoint_log_uses u
        where u.log_id = n.log_id and u.thread_id <> $1 limit ${WITNESSES}
      ) other
      cross join lateral (
        select c.segments from ${schema}.checkpoints c
        where c.thread_id = other.thread_id and c.checkpoint_ns = ''
        order by c.checkpoint_id desc limit 1 for share skip locked
      ) w
    ), kept as (
      select w.log_id, range_agg(int8range(w.segments[place + 1], w.segments[place + 2])) as idxs
      from witnesses w cross join lateral generate_series(1, cardinality(w.segments), 3) place
      where w.segments[place] = w.log_id and w.segments[place + 1] < w.segments[place + 2]
      group by 1
    )
    select u.log_id as log from ${schema}.checkpoint_log_uses u
    left join needed using (log_id) left join kept using (log_id)
    where u.thread_id = $1 and (needed.idxs <@ kept.idxs) is not true`,
    [threadId],
  );
  return rows.map(({ log }) => log);
};
