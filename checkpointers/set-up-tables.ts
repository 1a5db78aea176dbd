import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import type { Pool } from "pg";
import { loadMigrations } from "../src/storage/load-migrations.ts";
import { migrate } from "../src/storage/migrate.ts";
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
