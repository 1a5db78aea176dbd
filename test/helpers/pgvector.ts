import pg from "pg";
import { inject } from "vitest";

/** Whether the Postgres server of the tests has pgvector; says so where it lacks it. */
export async function hasPgvector(): Promise<boolean> {
  const connectionString = inject("postgresUrl");
  if (connectionString === "") return false;
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    const { rows } = await client.query(
      "select from pg_available_extensions where name = 'vector'",
    );
    if (rows.length === 0)
      console.warn("Tests with pgvector skipped: the Postgres server does not have it.");
    return rows.length > 0;
  } finally {
    await client.end();
  }
}
