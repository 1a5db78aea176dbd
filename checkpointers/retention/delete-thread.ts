import type { Queryable } from "../../src/storage/pool.ts";
import { alone, logsOfItsOwn } from "./alone.ts";
import { freeUnneeded } from "./free-unneeded.ts";
import type { CheckpointTables } from "./tables.ts";

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
    await freeUnneeded(client, schema, { threadId, logs });
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
