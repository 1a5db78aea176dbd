import { embeddedPool, inMemoryPool } from "./embedded.ts";
import { StorageOptionError } from "./errors.ts";
import type { DatabasePool } from "./pool.ts";
import { openPostgresPool } from "./postgres-pool.ts";

export interface DatabaseOptions {
  /** A Postgres server, as `postgres://user:password@host:port/database`. Absent: PGlite, embedded in this process. */
  url?: string;
  /** Where PGlite keeps its files and its lock. Default `.stratagraph` in the working directory. */
  folder?: string;
  /** Keep PGlite in memory, for tests and trials; everything is gone on close. Default false. */
  inMemory?: boolean;
  /** Name shown in `pg_stat_activity`; Postgres only. Default `stratagraph`. */
  applicationName?: string;
  /** Sessions at most; Postgres only, PGlite has one. Default 10. */
  maxConnections?: number;
  /** Milliseconds to wait for a session. Default 30,000. */
  connectTimeoutMs?: number;
  /** Milliseconds a statement may take; Postgres only, PGlite enforces none. Default 60,000; 0 for no limit. */
  statementTimeoutMs?: number;
  /**
   * Prepare statements that have a name; Postgres only. Turn it off behind a pooler that gives a session to another
   * client after each transaction and does not follow prepared statements. Default true.
   */
  preparedStatements?: boolean;
}

/** Where everything durable lives. One Postgres dialect, so one set of statements serves both kinds. */
export interface Database {
  readonly kind: "postgres" | "pglite";
  readonly pool: DatabasePool;
  /** Lets running work end, then closes; twice is once. */
  close(): Promise<void>;
}

/**
 * Opens the database of this process. A Postgres server is reached at once. PGlite is opened by the first query, which
 * is also what locks the folder: a graph that is only loaded (the worker thread in which `langgraph dev` reads schemas,
 * say) leaves the folder to the thread that runs it. All databases that this thread opens on one folder share a PGlite.
 *
 * @throws {DatabaseConnectionError} when the Postgres server does not answer, or refuses.
 * @throws {StorageOptionError} for a `maxConnections` that is no whole number of at least 1
 * @example
 * const database = await openDatabase({ url: process.env.DATABASE_URL });
 * const { rows } = await database.pool.query("select $1::text as greeting", ["hello"]);
 * await database.close();
 */
export async function openDatabase(options: DatabaseOptions = {}): Promise<Database> {
  const { maxConnections = 10 } = options;
  if (!Number.isSafeInteger(maxConnections) || maxConnections < 1) {
    throw new StorageOptionError("maxConnections", "a whole number of at least 1", maxConnections);
  }
  const connectTimeoutMs = options.connectTimeoutMs ?? 30_000;
  if (options.url === undefined || options.url === "") {
    const pool = options.inMemory
      ? inMemoryPool(connectTimeoutMs)
      : embeddedPool(options.folder ?? ".stratagraph", connectTimeoutMs);
    return { kind: "pglite", pool, close: () => pool.end() };
  }
  const pool = await openPostgresPool({
    url: options.url,
    applicationName: options.applicationName ?? "stratagraph",
    maxConnections,
    connectTimeoutMs,
    statementTimeoutMs: options.statementTimeoutMs ?? 60_000,
    preparedStatements: options.preparedStatements ?? true,
  });
  return { kind: "postgres", pool, close: () => pool.end() };
}
