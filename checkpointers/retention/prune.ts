import type { Queryable } from "../../src/storage/pool.ts";
import { idTime } from "../id-time.ts";
import { InvalidRetentionError } from "../errors.ts";
import { alone, logsOf } from "./alone.ts";
import { freeUnneeded } from "./free-unneeded.ts";
import { removable, type HistoryEntry } from "./removable.ts";
import type { CheckpointTables } from "./tables.ts";

export interface PruneOptions {
  readonly threadId: string;
  /**
   * What stays, however old:
   *
   * - `latest`: the newest checkpoint, from which the thread goes on. Branches that do not lead to it go.
   * - `turn_ends`: besides, the last checkpoint of every turn, and the end of every branch. A turn ends where the channel
   *   `status` is COMPLETED, FAILED or CANCELLED, and where the next input came in.
   * - `all`: every checkpoint. Only leftovers are freed that no checkpoint needs.
   */
  readonly keep: "latest" | "turn_ends" | "all";
  /** Checkpoints made at this time or later stay too, as do those of which nothing tells when. Default: none for its age. */
  readonly olderThan?: Date;
}

/** What a prune removed. */
export interface Pruned {
  readonly checkpoints: number;
  /** List elements and entries of large objects, and channel values of the stock class. */
  readonly elements: number;
  /** Of all that went, as it was before the database compressed it. */
  readonly bytes: number;
}

/**
 * Removes checkpoints of a thread, and what only they needed. What a kept checkpoint needs stays with it: the newest
 * checkpoints of its subgraphs, so that interrupts in them can be answered, and the ancestors from whose writes delta
 * channels are put together. Children of removed checkpoints go on naming their parents.
 *
 * Runs may go on meanwhile, also from a checkpoint that goes: see `alone`.
 *
 * @throws {InvalidRetentionError}
 */
export async function prune(tables: CheckpointTables, options: PruneOptions): Promise<Pruned> {
  const { schema } = tables;
  const { threadId, keep, olderThan } = options;
  checkRetention(options);
  const work = async (client: Queryable, logs: readonly string[]) => {
    let removed = { checkpoints: 0, bytes: 0 };
    if (keep !== "all") {
      const history = await readHistory(client, schema, threadId);
      removed = await remove(client, { schema, threadId }, removable(history, { keep, olderThan }));
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
): Promise<Pruned> {
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
  return rows.map((row) => ({ ...row, createdAt: idTime(row.id) ?? row.createdAt }));
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

async function remove(
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
