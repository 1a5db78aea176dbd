import type { DatabaseClient, DatabasePool } from "./pool.ts";

/**
 * Whether a pooler gives the session of a client to others after each transaction. Another connection then gets the same
 * session, or the client gets another one while that has it. Without a pooler it is one statement; an embedded database
 * has none.
 */
export async function isSessionShared(
  pool: Pick<DatabasePool, "connect">,
  client: DatabaseClient,
): Promise<boolean> {
  if (client.backendPid === undefined) return false;
  const pid = await pidOf(client);
  // Poolers give their clients ids of their own.
  if (pid === client.backendPid) return false;
  const other = await pool.connect();
  try {
    await other.query("begin");
    return (await pidOf(other)) === pid || (await pidOf(client)) !== pid;
  } finally {
    await other.query("rollback").catch(() => undefined);
    other.release();
  }
}

async function pidOf(client: DatabaseClient): Promise<number> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  return rows[0]!.pid;
}
