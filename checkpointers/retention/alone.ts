import type { Queryable } from "../../src/storage/pool.ts";
import type { CheckpointTables } from "./tables.ts";
import { transaction } from "./transaction.ts";

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
 * Rows are locked in one order, so that two of these cannot wait for each other.
 *
 * @param look which logs are to be looked at for elements that nobody needs
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
  return transaction(pool, async (client) => {
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
        select from ${schema}.checkpoint_log_uses where log_id = any($1::bigint[])
        order by log_id, thread_id for update
      ) as locked`,
      [logs],
    );
    return work(client, logs);
  });
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
export const logsOfItsOwn: LookUp = async (client, schema, threadId) => {
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
