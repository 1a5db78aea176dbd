import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import type { Pool } from "pg";
import type { ValueCipher } from "../src/storage/encryption/value-cipher.ts";
import { tableSetOpener } from "../src/storage/move-tables.ts";
import type { DatabasePool, Queryable } from "../src/storage/pool.ts";

/**
 * Returns a function that makes the tables, one process at a time, those of the stock class first, and resolves to the
 * role of tenants on them.
 *
 * It throws {@link NewerDatabaseError} when a newer version of this package made them.
 */
export function checkpointTablesOpener(
  pool: DatabasePool,
  schema: string,
): () => Promise<string | null> {
  return tableSetOpener(pool, {
    name: "checkpoints",
    schema,
    migrations: new URL("./migrations/", import.meta.url),
    before: (client) =>
      new PostgresSaver(asPgPool(poolOf(client)), undefined, {
        schema: schema.replaceAll('"', '""'),
      }).setup(),
  });
}

/** The stock saver is typed for a whole `pg.Pool` and uses `connect`, `query` and `end` alone. */
export function asPgPool(pool: DatabasePool): Pool {
  return pool as unknown as Pool;
}

/** A client that its user may release without losing it. */
function poolOf(client: Queryable): DatabasePool {
  const query: Queryable["query"] = (text, values) => client.query(text, values);
  return { query, connect: async () => ({ query, release: () => {} }), end: async () => {} };
}

/** Where checkpoints are stored. */
export interface CheckpointTables {
  /** Of one tenant. */
  readonly pool: DatabasePool;
  /** As it stands in SQL, with its quotes. */
  readonly schema: string;
}

/** Where checkpoints are stored, and how their values are sealed. */
export interface SealedTables extends CheckpointTables {
  readonly cipher: ValueCipher;
}

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
