import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import type { Pool } from "pg";
import type { ValueCipher } from "../src/storage/encryption/value-cipher.ts";
import { loadMigrations, migrate } from "../src/storage/migrate.ts";
import type { DatabasePool, Queryable } from "../src/storage/pool.ts";

/**
 * Makes the tables, one process at a time: those of the stock class first.
 *
 * @throws {NewerDatabaseError} when a newer version of this package made them
 */
export async function setUpTables(pool: DatabasePool, schema: string): Promise<void> {
  await migrate(pool, {
    schema,
    name: "checkpoints",
    migrations: await loadMigrations(new URL("./migrations/", import.meta.url)),
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
