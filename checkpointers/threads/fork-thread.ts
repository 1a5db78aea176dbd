import type {
  BaseCheckpointSaver,
  CheckpointMetadata,
  CheckpointTuple,
} from "@langchain/langgraph-checkpoint";
import { shareBlobs } from "../blobs.ts";
import { retryConflicts } from "../queries.ts";
import type { ValueCipher } from "../../src/storage/encryption/value-cipher.ts";
import type { Queryable } from "../../src/storage/pool.ts";
import { isStockCheckpoint } from "../checkpoint-reader.ts";
import { DeltaForkError, NoCheckpointError, ThreadExistsError } from "../errors.ts";
import { checkpointHash, sealContext, writesHash } from "../integrity.ts";
import type { CheckpointRow } from "../queries.ts";
import { damagedRow, openOrKeep, openWrites } from "../rows.ts";
import { type SealedTables, transaction } from "../tables.ts";

export interface ForkedThread {
  readonly threadId: string;
  readonly checkpointId: string;
  readonly newThreadId: string;
}

type CopiedRow = Omit<CheckpointRow, "parent_row_hash" | "newest">;

interface CopiedWrites {
  task_id: string;
  idx: number;
  body: Buffer;
  hash: Buffer;
}

/** A checkpoint that the stock class wrote, which is copied by its values. */
export interface StockCheckpoint {
  readonly namespace: string;
  readonly id: string;
}

/**
 * Begins a thread at a checkpoint of another: the checkpoint under its own id, without a parent, its pending writes, and
 * what subgraphs had reached under it. Elements are not copied, both threads refer to them.
 *
 * @returns what the caller has to copy, since it has no elements
 * @throws {NoCheckpointError} {@link ThreadExistsError} {@link CorruptCheckpointError} {@link DeltaForkError}
 */
export async function forkThread(
  { pool, schema, cipher }: SealedTables,
  of: ForkedThread,
): Promise<readonly StockCheckpoint[]> {
  const { threadId, checkpointId, newThreadId } = of;
  return asThreadExists(newThreadId, () =>
    retryConflicts(() =>
      transaction(pool, async (client) => {
        const { rows: taken } = await client.query(
          `select from ${schema}.checkpoints where thread_id = $1 limit 1`,
          [newThreadId],
        );
        if (taken.length > 0) throw new ThreadExistsError(newThreadId);
        const rows = await holdRows(client, schema, of);
        if (!rows.some((row) => row.checkpoint_ns === "")) {
          throw new NoCheckpointError(threadId, checkpointId);
        }
        for (const row of rows) refuseDelta(row);
        const ours = rows.filter((row) => !isStockCheckpoint(row));
        for (const row of ours) {
          await client.query(
            `insert into ${schema}.checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, type, body, segments, hash, parent_hash, metadata, summary)
         values ($1, $2, $3, null, 'null'::jsonb, $4, $5, $6::bigint[], $7, null, $8::jsonb, $9::jsonb)`,
            toCopy(row, newThreadId, cipher),
          );
        }
        await copyWrites(client, { schema, cipher }, { rows: ours, newThreadId });
        await client.query(
          `insert into ${schema}.checkpoint_log_uses (log_id, thread_id)
       select distinct c.segments[n], c.thread_id from ${schema}.checkpoints c, generate_series(1, cardinality(c.segments), 3) n
       where c.thread_id = $1`,
          [newThreadId],
        );
        await shareBlobs(client, schema, of);
        return rows
          .filter(isStockCheckpoint)
          .map((row) => ({ namespace: row.checkpoint_ns, id: row.checkpoint_id }));
      }),
    ),
  );
}

/** Of forks into one new thread at the same time the first one counts. */
async function asThreadExists<Result>(
  threadId: string,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    const { code, constraint } = thrown as { code?: unknown; constraint?: unknown };
    if (code !== "23505" || constraint !== "checkpoints_pkey") throw thrown;
    throw new ThreadExistsError(threadId);
  }
}

/**
 * The checkpoint, and of each subgraph the newest that belongs to it: made under it, or, of subgraphs that keep their
 * memory from run to run (their names have no task in them), made before. Locked, so that they are not pruned meanwhile.
 */
async function holdRows(
  client: Queryable,
  schema: string,
  { threadId, checkpointId }: ForkedThread,
): Promise<CopiedRow[]> {
  const { rows } = await client.query<CopiedRow>(
    `select * from ${schema}.checkpoints where thread_id = $1 and (
       (checkpoint_ns = '' and checkpoint_id = $2)
       or (checkpoint_ns <> '' and (checkpoint_ns, checkpoint_id) in (
         select checkpoint_ns, max(checkpoint_id) from ${schema}.checkpoints
         where thread_id = $1 and checkpoint_ns <> '' and case when position(':' in checkpoint_ns) > 0
           then metadata -> 'parents' ->> '' = $2 else metadata -> 'parents' ->> '' <= $2 end
         group by 1)))
     order by checkpoint_ns, checkpoint_id for key share`,
    [threadId, checkpointId],
  );
  return rows;
}

/** @throws {DeltaForkError} */
function refuseDelta({ thread_id, checkpoint_id, metadata }: CopiedRow): void {
  const counters = metadata["counters_since_delta_snapshot"];
  const channels = typeof counters === "object" && counters !== null ? Object.keys(counters) : [];
  if (channels.length > 0) throw new DeltaForkError(thread_id, checkpoint_id, channels);
}

/** The columns of a row in its new thread. A row that was damaged must not get a hash that holds. */
function toCopy(row: CopiedRow, newThreadId: string, cipher: ValueCipher): unknown[] {
  const { checkpoint_ns: namespace, checkpoint_id: id, type, body: stored, summary } = row;
  if (stored === null) throw damagedRow(row, "its content is missing");
  const key = { threadId: row.thread_id, namespace, id };
  const body = openOrKeep(cipher, stored, sealContext.checkpoint(key));
  const segments = (row.segments ?? []).map(Number);
  const content = { namespace, id, type, body, segments, summary };
  const before = checkpointHash({
    ...content,
    threadId: row.thread_id,
    parentId: row.parent_checkpoint_id,
    parentHash: row.parent_hash,
    metadata: row.metadata,
  });
  if (row.hash === null || !before.equals(row.hash)) {
    throw damagedRow(row, "its content does not have the hash it was given");
  }
  const metadata = {
    ...row.metadata,
    forked_from: { thread_id: row.thread_id, checkpoint_id: id },
  };
  const hash = checkpointHash({
    ...content,
    threadId: newThreadId,
    parentId: null,
    parentHash: null,
    metadata,
  });
  const places = `{${segments.join(",")}}`;
  const json = [JSON.stringify(metadata), JSON.stringify(summary)];
  const copied = sealContext.checkpoint({ ...key, threadId: newThreadId });
  const sealed = cipher.sealBytes(body, copied);
  return [newThreadId, namespace, id, type, sealed, places, hash, ...json];
}

async function copyWrites(
  client: Queryable,
  { schema, cipher }: Pick<SealedTables, "schema" | "cipher">,
  { rows, newThreadId }: { rows: readonly CopiedRow[]; newThreadId: string },
): Promise<void> {
  for (const row of rows) {
    const { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: checkpointId } = row;
    const { rows: sets } = await client.query<CopiedWrites>(
      `select task_id, idx, body, hash from ${schema}.checkpoint_write_sets
       where thread_id = $1 and checkpoint_ns = $2 and checkpoint_id = $3`,
      [threadId, namespace, checkpointId],
    );
    for (const { task_id: taskId, idx, body, hash } of sets) {
      const content = { namespace, checkpointId, taskId, idx, body };
      if (!writesHash({ ...content, threadId }).equals(hash)) {
        throw damagedRow(row, "its pending writes do not have the hash they were given");
      }
      const name = { namespace, checkpointId, taskId, idx, threadId: newThreadId };
      const plain = openWrites(row, cipher, { ...content, threadId });
      const sealed = cipher.sealBytes(plain, sealContext.writes(name));
      const copied = writesHash({ ...name, body: sealed });
      await client.query(
        `insert into ${schema}.checkpoint_write_sets (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, body, hash)
         values ($1, $2, $3, $4, $5, $6, $7)`,
        [newThreadId, namespace, checkpointId, taskId, idx, sealed, copied],
      );
    }
  }
}

/** Puts a checkpoint of a stock saver, and its pending writes, at the beginning of another thread. */
export async function putForked(
  saver: Pick<BaseCheckpointSaver, "put" | "putWrites">,
  { config, checkpoint, metadata, pendingWrites = [] }: CheckpointTuple,
  newThreadId: string,
): Promise<void> {
  const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable ?? {};
  const forked_from = { thread_id: thread_id as string, checkpoint_id: checkpoint_id as string };
  const to = { configurable: { thread_id: newThreadId, checkpoint_ns: checkpoint_ns as string } };
  const described = { ...metadata, forked_from } as unknown as CheckpointMetadata;
  const stored = await saver.put(to, checkpoint, described, checkpoint.channel_versions);
  for (const taskId of new Set(pendingWrites.map(([task]) => task))) {
    const writes = pendingWrites.filter(([task]) => task === taskId);
    await saver.putWrites(
      stored,
      writes.map(([, channel, value]) => [channel, value]),
      taskId,
    );
  }
}
