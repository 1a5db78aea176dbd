import type { ThreadListOptions, ThreadSummary } from "../../src/durable-saver.ts";
import { uuidV6Timestamp } from "../../checkpointers/config.ts";
import type { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import type { Queryable } from "../../src/storage/pool.ts";

/** The list of threads, read from all of their checkpoints. */
export async function scanThreads(
  database: Queryable,
  schema = `"public"`,
): Promise<ThreadSummary[]> {
  const { rows } = await database.query<
    Omit<ThreadSummary, "updatedAt" | "bytes"> & { bytes: string; at: string | null }
  >(
    `with threads as (
      select thread_id, count(*) filter (where checkpoint_ns = '')::int as checkpoints, max(checkpoint_id) filter (where checkpoint_ns = '') as last_id,
        coalesce(sum(case jsonb_typeof(summary -> 'bytes') when 'number' then (summary ->> 'bytes')::numeric end), 0) as bytes
      from ${schema}.checkpoints group by thread_id
    )
    select t.thread_id as "threadId", t.checkpoints, t.last_id as "lastId", t.bytes,
      case jsonb_typeof(c.summary -> 'status') when 'string' then c.summary ->> 'status' end as status,
      case jsonb_typeof(c.summary -> 'agent') when 'string' then c.summary ->> 'agent' end as agent,
      c.metadata ->> 'definition_hash' as "definitionHash", coalesce(c.summary ->> 'at', c.checkpoint ->> 'ts') as at
    from threads t join ${schema}.checkpoints c on c.thread_id = t.thread_id and c.checkpoint_ns = '' and c.checkpoint_id = t.last_id
    order by t.last_id desc, t.thread_id desc`,
  );
  return rows.map(({ at, ...row }) => ({
    ...row,
    updatedAt: uuidV6Timestamp(row.lastId) ?? at ?? "",
    bytes: Number(row.bytes),
  }));
}

/** All pages of the list, in order. */
export async function listAllThreads(
  saver: Pick<PostgresCheckpointer, "listThreads">,
  options: ThreadListOptions = {},
): Promise<ThreadSummary[]> {
  const items: ThreadSummary[] = [];
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<typeof saver.listThreads>> = await saver.listThreads({
      ...options,
      ...(cursor !== null && { cursor }),
    });
    items.push(...page.items);
    cursor = page.next;
  } while (cursor !== null);
  return items;
}
