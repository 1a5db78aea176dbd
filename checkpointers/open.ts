import type { Database } from "../src/storage/database.ts";
import { PostgresCheckpointer, type PostgresCheckpointerOptions } from "./postgres.ts";

/** The checkpointer of an open database. It touches the database when it is first used, and leaves closing it to the opener. */
export async function openCheckpointer(
  database: Pick<Database, "pool">,
  options?: PostgresCheckpointerOptions,
): Promise<PostgresCheckpointer> {
  return new PostgresCheckpointer(database.pool, options);
}
