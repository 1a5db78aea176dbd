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
 * - Removals in threads that share elements with this one wait too: two that each counted on the other to keep an
 *   element, or to free it, would both be wrong.
 *
 * Rows are locked in one order, so that two of these cannot wait for each other.
 */
export async function alone<Result>(
  { pool, schema }: CheckpointTables,
  threadId: string,
  work: (client: Queryable) => Promise<Result>,
): Promise<Result> {
  return transaction(pool, async (client) => {
    await client.query(
      `select count(*) from (
        select from ${schema}.checkpoints where thread_id = $1
        order by checkpoint_ns, checkpoint_id for update
      ) as locked`,
      [threadId],
    );
    await client.query(
      `select count(*) from (
        select from ${schema}.checkpoint_log_uses
        where log_id in (select log_id from ${schema}.checkpoint_log_uses where thread_id = $1)
        order by log_id, thread_id for update
      ) as locked`,
      [threadId],
    );
    return work(client);
  });
}
