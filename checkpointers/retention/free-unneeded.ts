import type { Queryable } from "../../src/storage/pool.ts";

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
