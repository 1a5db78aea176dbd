import type { SavedWrites } from "../../src/durable-saver.ts";
import type { ValueCipher } from "../../src/storage/encryption/value-cipher.ts";
import type { Queryable } from "../../src/storage/pool.ts";
import { CorruptCheckpointError } from "../errors.ts";
import { sealContext, writesHash } from "../integrity.ts";
import { writeColumns, type WriteSetRow } from "../writing/pending-writes.ts";
import { checkpointQueries } from "../queries.ts";
import type { CheckpointTables, SealedTables } from "../tables.ts";
import { alone, freeUnneeded, logsOf, remove } from "./prune.ts";

/** A checkpoint with one of its sets of pending writes. The other columns are null where it has none. */
interface SavedRow {
  readonly namespace: string;
  readonly checkpointId: string;
  readonly taskId: string | null;
  readonly idx: number | null;
  readonly body: Uint8Array | null;
  readonly hash: Uint8Array | null;
}

/**
 * Reads the pending writes of a checkpoint and of the subgraphs under it, which a run that continues there adds to and
 * replaces.
 *
 * @param of.checkpointId default: the newest
 * @throws CorruptCheckpointError for writes without the hash that they were given
 */
export async function readPendingWrites(
  { pool, schema, cipher }: SealedTables,
  of: { readonly threadId: string; readonly checkpointId?: string | undefined },
): Promise<SavedWrites> {
  const { threadId, checkpointId = null } = of;
  const { rows } = await pool.query<SavedRow>(
    `with root as (
      select coalesce($2, (select checkpoint_id from ${schema}.checkpoints
        where thread_id = $1 and checkpoint_ns = '' order by checkpoint_id desc limit 1)) as id
    ), places as (
      select distinct on (c.checkpoint_ns) c.checkpoint_ns, c.checkpoint_id from ${schema}.checkpoints c, root
      where c.thread_id = $1 and case when c.checkpoint_ns = '' then c.checkpoint_id = root.id
        -- A namespace without a task is that of a subgraph which keeps its state from turn to turn.
        else c.checkpoint_ns not like '%:%' or c.metadata -> 'parents' ->> '' = root.id end
      order by c.checkpoint_ns, c.checkpoint_id desc
    )
    select p.checkpoint_ns as namespace, p.checkpoint_id as "checkpointId", w.task_id as "taskId", w.idx, w.body, w.hash
    from places p left join ${schema}.checkpoint_write_sets w
      on w.thread_id = $1 and w.checkpoint_ns = p.checkpoint_ns and w.checkpoint_id = p.checkpoint_id`,
    [threadId, checkpointId],
  );
  return rows.map((row) => ({
    namespace: row.namespace,
    checkpointId: row.checkpointId,
    taskId: row.taskId,
    idx: row.idx,
    body: openedBody(row, { threadId, cipher }),
  }));
}

function openedBody(
  { namespace, checkpointId, taskId, idx, body, hash }: SavedRow,
  { threadId, cipher }: { readonly threadId: string; readonly cipher: ValueCipher },
): string | null {
  if (taskId === null || idx === null || body === null) return null;
  const place = { threadId, namespace, checkpointId, taskId, idx };
  if (hash === null || !writesHash({ ...place, body }).equals(hash)) {
    const reason = "its pending writes do not have the hash they were given";
    throw new CorruptCheckpointError(threadId, namespace, checkpointId, reason);
  }
  return cipher.openBytes(body, sealContext.writes(place)).toString("base64");
}

/**
 * Removes all checkpoints of a run, those of subgraphs too, with what only they needed, and restores pending writes that
 * were read before the run: all of it, or nothing. Twice is once.
 *
 * @returns the number of checkpoints that were removed
 */
export async function rollBackRun(
  { cipher, ...tables }: SealedTables & CheckpointTables,
  of: {
    readonly threadId: string;
    /** `run_id` in the metadata of its checkpoints. */
    readonly runId: string;
    readonly restored: SavedWrites;
    /** As the tables were opened, without quotes. */
    readonly schemaName: string;
  },
): Promise<number> {
  const { threadId, runId, restored, schemaName } = of;
  const { schema } = tables;
  const work = async (client: Queryable, logs: readonly string[]) => {
    const { rows } = await client.query<{ namespace: string; id: string }>(
      `select checkpoint_ns as namespace, checkpoint_id as id from ${schema}.checkpoints
      where thread_id = $1 and metadata ->> 'run_id' = $2`,
      [threadId, runId],
    );
    const { checkpoints } = await remove(client, { schema, threadId }, rows);
    if (restored.length > 0) {
      await client.query(
        `delete from ${schema}.checkpoint_write_sets w using unnest($2::text[], $3::text[]) p (checkpoint_ns, checkpoint_id)
        where w.thread_id = $1 and w.checkpoint_ns = p.checkpoint_ns and w.checkpoint_id = p.checkpoint_id`,
        [
          threadId,
          restored.map(({ namespace }) => namespace),
          restored.map(({ checkpointId }) => checkpointId),
        ],
      );
    }
    const sets = restored.flatMap((set) => writeSetOf(set, { threadId, cipher }) ?? []);
    if (sets.length > 0) {
      const { addWrites } = checkpointQueries(schemaName);
      await client.query(addWrites, [threadId, ...writeColumns(sets)]);
    }
    await freeUnneeded(client, schema, { threadId, logs });
    return checkpoints;
  };
  return alone(tables, threadId, { look: logsOf, work });
}

function writeSetOf(
  { namespace, checkpointId, taskId, idx, body: saved }: SavedWrites[number],
  { threadId, cipher }: { readonly threadId: string; readonly cipher: ValueCipher },
): WriteSetRow | null {
  if (taskId === null || idx === null || saved === null) return null;
  const place = { threadId, namespace, checkpointId, taskId, idx };
  const body = cipher.sealBytes(Buffer.from(saved, "base64"), sealContext.writes(place));
  return { namespace, checkpointId, taskId, idx, body, hash: writesHash({ ...place, body }) };
}
