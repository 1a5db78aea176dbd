import { existsSync, realpathSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { DatabaseUnavailableError, sqlStateOf, StorageOptionError } from "./errors.ts";
import { DATABASE, type FolderLock, lockFolder } from "./folder-lock.ts";
import { PGliteConnection, PGlitePool } from "./pglite-pool.ts";
import { createPGlite } from "./pglite.ts";
import type { DatabasePool } from "./pool.ts";
import { type NoticeHandlers, type Notices, PostgresNotices } from "./postgres-notices.ts";
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
  /**
   * The same server for LISTEN and for the locks of threads, reached directly where `url` is that of a pooler by
   * transaction; Postgres only. Default `url`.
   */
  listenUrl?: string;
}

/**
 * What the environment says of a pooler in front of Postgres: `STRATAGRAPH_LISTEN_URL`, and
 * `STRATAGRAPH_PREPARED_STATEMENTS` (`false` or `0` turns them off).
 */
export function poolerOptions(
  env: Readonly<Record<string, string | undefined>>,
): Pick<DatabaseOptions, "listenUrl" | "preparedStatements"> {
  const listenUrl = env["STRATAGRAPH_LISTEN_URL"];
  const prepared = env["STRATAGRAPH_PREPARED_STATEMENTS"];
  const isOff = prepared === "false" || prepared === "0";
  return { ...(listenUrl && { listenUrl }), ...(isOff && { preparedStatements: false }) };
}

/** Where everything durable lives. One Postgres dialect, so one set of statements serves both kinds. */
export interface Database {
  readonly kind: "postgres" | "pglite";
  readonly pool: DatabasePool;
  /**
   * Notices between processes, on a session of their own. `channel`: a Postgres name. Absent where no other process has
   * the database open.
   */
  readonly openNotices?: (channel: string, handlers: NoticeHandlers) => Notices;
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
    directUrl: options.listenUrl,
  });
  const openNotices = (channel: string, handlers: NoticeHandlers) =>
    new PostgresNotices({
      ...handlers,
      channel,
      config: {
        connectionString: options.listenUrl ?? options.url,
        application_name: options.applicationName ?? "stratagraph",
        connectionTimeoutMillis: connectTimeoutMs,
        keepAlive: true,
      },
      sendElsewhere: async (name, text) => {
        await pool.query("select pg_notify($1, $2)", [name, text]);
      },
    });
  return { kind: "postgres", pool, openNotices, close: () => pool.end() };
}

interface SharedConnection {
  connection: PGliteConnection;
  pools: number;
  /** Set once the last pool has ended: the folder is being given back. */
  closing?: Promise<void>;
}

/**
 * The PGlite open on each folder in this thread. It hangs on the global object because one process may hold this module
 * twice (a bundle and the package, sources and the build), and two PGlites on a folder destroy it.
 */
const REGISTRY = Symbol.for("stratagraph.embedded-databases");
const registry = ((globalThis as { [REGISTRY]?: Map<string, SharedConnection> })[REGISTRY] ??=
  new Map());

/**
 * A pool on the PGlite of a folder. Nothing happens to the folder until the first query, which locks and opens it.
 * Pools on the same folder share one PGlite; the last to end closes it and unlocks the folder.
 */
function embeddedPool(folder: string, waitMs: number): DatabasePool {
  const key = existsSync(folder) ? realpathSync(folder) : resolve(folder);
  const shared = share(key);
  shared.pools += 1;
  return new PGlitePool(shared.connection, waitMs, async () => {
    shared.pools -= 1;
    if (shared.pools > 0) return;
    shared.closing = shared.connection.close();
    await shared.closing;
    if (registry.get(key) === shared) registry.delete(key);
  });
}

/** A pool on a PGlite that lives in memory and is gone when the pool ends. */
function inMemoryPool(waitMs: number): DatabasePool {
  let opened = false;
  const connection = new PGliteConnection(
    async () => {
      if (opened)
        throw new DatabaseUnavailableError("it was in memory, and was lost", null, undefined);
      const database = await createPGlite();
      opened = true;
      return database;
    },
    async () => {},
  );
  return new PGlitePool(connection, waitMs, () => connection.close());
}

function share(folder: string): SharedConnection {
  const present = registry.get(folder);
  if (present && !present.closing) return present;
  const before = present?.closing;
  let lock: FolderLock | undefined;
  const unlock = (): void => {
    lock?.release();
    lock = undefined;
  };
  const connection = new PGliteConnection(
    async () => {
      await before;
      lock ??= lockFolder(folder); // Still held where this replaces a PGlite that panicked.
      try {
        return await createPGlite(join(folder, DATABASE));
      } catch (error) {
        unlock();
        throw error;
      }
    },
    async () => unlock(),
  );
  const shared: SharedConnection = { connection, pools: 0 };
  registry.set(folder, shared);
  return shared;
}

/** Bytes of all files in the folder of an embedded database. */
export interface ReclaimedSpace {
  readonly before: number;
  readonly after: number;
}

/**
 * Gives the space of removed rows in an embedded database, and that of its write-ahead log, back to the file system. It
 * takes the database's one session for as long as it lasts, and needs as much free space as what stays in its largest
 * table.
 */
export async function reclaimSpace(pool: DatabasePool, folder: string): Promise<ReclaimedSpace> {
  const client = await pool.connect();
  try {
    await client.query("select 1"); // Opens it.
    const before = await bytesIn(folder);
    await client.query("vacuum (full, analyze)");
    // Otherwise files of the log are renamed and kept for what is to come.
    await client.query("set wal_recycle = off");
    await client.query("checkpoint");
    await client.query("reset wal_recycle");
    return { before, after: await bytesIn(folder) };
  } finally {
    client.release();
  }
}

/**
 * Vacuums and analyzes the tables of an embedded database that have changed, as autovacuum does on a server, with its
 * thresholds: more than 50 rows and a tenth of the table were written since the last time, or more than 50 and a fifth are
 * dead. Without it plans are made for empty tables, and indexes keep the entries of removed rows. Takes the one session for
 * a table at a time, and begins no further table once the signal aborts.
 *
 * @returns the tables, in quotes where their names need them
 */
export async function vacuumChanged(
  pool: DatabasePool,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  // Counts of the last second may not be there yet.
  await pool.query("select pg_stat_force_next_flush()");
  const { rows } = await pool.query<{ name: string }>(
    `select format('%I.%I', schemaname, relname) as name from pg_stat_user_tables
    where n_mod_since_analyze > 50 + n_live_tup / 10 or n_dead_tup > 50 + n_live_tup / 5 order by 1`,
  );
  const vacuumed: string[] = [];
  for (const { name } of rows) {
    if (signal?.aborted === true) break;
    try {
      await pool.query(`vacuum (analyze) ${name}`);
      vacuumed.push(name);
    } catch (error) {
      // Others have the session between two tables. Retention drops partitions.
      if (!droppedStates.has(sqlStateOf(error))) throw error;
    }
  }
  return vacuumed;
}

/** No table of the name, and no schema. */
const droppedStates = new Set<string | null>(["42P01", "3F000"]);

async function bytesIn(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(
    files.map(async ({ parentPath, name }) => (await stat(join(parentPath, name))).size),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
