import type { DatabasePool, Queryable } from "../../src/storage/pool.ts";

/** Runs `work` in one transaction, each of whose statements sees what was committed before it began. */
export async function transaction<Result>(
  pool: DatabasePool,
  work: (client: Queryable) => Promise<Result>,
): Promise<Result> {
  const client = await pool.connect();
  try {
    // Where the server's default is stricter, statements would go on seeing what others have removed meanwhile.
    await client.query("begin isolation level read committed");
    const result = await work(client);
    await client.query("commit");
    return result;
  } catch (error) {
    await client.query("rollback").catch(() => {}); // A session too broken for it ends when it is released.
    throw error;
  } finally {
    client.release();
  }
}
