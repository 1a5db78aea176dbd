import type { Writable } from "node:stream";
import type { Pool, PoolClient } from "pg";
import {
  type DatabaseClient,
  type DatabasePool,
  type QueryConfig,
  type QueryResult,
  redactUrl,
  StatementNames,
} from "./pool.ts";
import {
  DatabaseBusyError,
  DatabaseClosedError,
  DatabaseConnectionError,
  DatabaseUnavailableError,
  isStalePlan,
  PreparedStatementError,
  sqlStateOf,
  toDatabaseError,
} from "./errors.ts";

export interface PostgresOptions {
  /** `postgres://user:password@host:port/database`. Its own parameters win over the options here. */
  url: string;
  /** Shown in `pg_stat_activity`. */
  applicationName: string;
  /** Sessions at most, in this process. */
  maxConnections: number;
  /** Milliseconds to wait for a session. */
  connectTimeoutMs: number;
  /** Milliseconds after which the server ends a statement; 0 sends no limit, which poolers such as PgBouncer may want. */
  statementTimeoutMs: number;
  /** Whether the names of statements reach the server. */
  preparedStatements: boolean;
  /** The same server, reached without a pooler. Default: `url` is. */
  directUrl?: string | undefined;
}

/**
 * Quiet for so long, a connection is probed, so that one whose other end vanished is known to be lost within a minute.
 * The default of most systems is two hours.
 */
const KEEP_ALIVE_MS = 30_000;
/** What node-postgres says when no session became free; of a server that does not answer it says something else. */
const ALL_IN_USE = "timeout exceeded when trying to connect";

/**
 * A pool on a Postgres server. One session is opened at once, so that a wrong address is an error here and not in the
 * middle of a run.
 *
 * @throws {DatabaseConnectionError} when the server does not answer, or refuses.
 */
export async function openPostgresPool(options: PostgresOptions): Promise<DatabasePool> {
  const shownUrl = redactUrl(options.url);
  // A URL that does not parse stays out of `cause` too: Node's error carries the whole text, password and all.
  if (!URL.canParse(options.url))
    throw new DatabaseConnectionError(
      shownUrl,
      "expected postgres://user:password@host:port/database",
    );
  const { default: pg } = await import("pg");
  const { directUrl } = options;
  const pool = openPool(pg.Pool, options.url, options);
  // The locks of threads need one session, and take it with the first lock.
  const direct =
    directUrl === undefined
      ? undefined
      : openPool(pg.Pool, directUrl, { ...options, maxConnections: 1 });
  try {
    (await pool.connect()).release();
  } catch (error) {
    await Promise.all([pool.end(), direct?.end()]);
    throw new DatabaseConnectionError(shownUrl, connectionFailure(error), { cause: error });
  }
  return new PostgresPool(pool, { ...options, direct });
}

function openPool(
  PgPool: typeof Pool,
  connectionString: string,
  options: Omit<PostgresOptions, "url">,
): Pool {
  const pool = new PgPool({
    connectionString,
    application_name: options.applicationName,
    max: options.maxConnections,
    connectionTimeoutMillis: options.connectTimeoutMs,
    statement_timeout: options.statementTimeoutMs === 0 ? undefined : options.statementTimeoutMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    allowExitOnIdle: true,
    pipeline: true,
  });
  // An idle session broke: the pool drops it and opens another when asked. Unheard, the event would end the process.
  pool.on("error", () => {});
  // So would that of a session which breaks as soon as it is open, before its user listens. Its next statement fails.
  pool.on("connect", (client) => void client.on("error", () => {}));
  return pool;
}

interface PostgresPoolOptions extends Pick<PostgresOptions, "connectTimeoutMs" | "maxConnections"> {
  readonly preparedStatements: boolean;
  readonly direct?: Pool | undefined;
}

class PostgresPool implements DatabasePool {
  readonly direct?: PostgresPool;
  readonly #names: StatementNames;
  #ended: Promise<void> | undefined;

  constructor(
    private readonly pool: Pool,
    private readonly options: PostgresPoolOptions,
  ) {
    this.#names = new StatementNames(options.preparedStatements);
    const { direct, ...own } = options;
    if (direct) this.direct = new PostgresPool(direct, { ...own, maxConnections: 1 });
  }

  async connect(): Promise<DatabaseClient> {
    if (this.#ended)
      throw new DatabaseClosedError("The database is closed: open it again to query it.");
    try {
      return new PostgresClient(await this.pool.connect(), this.#names);
    } catch (error) {
      const reason = connectionFailure(error);
      if (reason === ALL_IN_USE)
        throw new DatabaseBusyError(this.options.connectTimeoutMs, this.options.maxConnections);
      throw new DatabaseUnavailableError(`no new session, ${reason}`, sqlStateOf(error), error);
    }
  }

  async query<Row>(
    query: string | QueryConfig,
    values?: readonly unknown[],
  ): Promise<QueryResult<Row>> {
    const client = await this.connect();
    try {
      return await client.query<Row>(query, values);
    } finally {
      client.release();
    }
  }

  end(): Promise<void> {
    return (this.#ended ??= Promise.all([this.pool.end(), this.direct?.end()]).then(() => {}));
  }
}

class PostgresClient implements DatabaseClient {
  readonly pipelines = true;
  #released = false;
  #broken = false;
  /** Statements that were sent and are not answered. */
  #pending = 0;
  /** Whether one of the statements that were sent one behind the other has failed. */
  #hasFailed = false;
  readonly #lost = new AbortController();
  // A session that breaks while checked out reports it as an event besides failing its query; unheard, it would end the process.
  readonly #onError = (error: unknown): void => this.#lost.abort(toDatabaseError(error));

  constructor(
    private readonly client: PoolClient,
    private readonly names: StatementNames,
  ) {
    client.on("error", this.#onError);
  }

  get backendPid(): number {
    // Not in @types/pg.
    return (this.client as PoolClient & { readonly processID: number }).processID;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  async query<Row>(
    query: string | QueryConfig,
    values?: readonly unknown[],
  ): Promise<QueryResult<Row>> {
    if (this.#released)
      throw new DatabaseClosedError("The client was released: take another from the pool.");
    const { text, name: given, values: configured } = asConfig(query);
    const all = (values ?? configured) as unknown[] | undefined; // pg declares an array it may change.
    // Texts without values may have several statements, of which none can be prepared.
    const ownName = () => (all !== undefined && all.length > 0 ? this.names.of(text) : undefined);
    const name = this.names.areSent ? (given ?? ownName()) : undefined;
    const isFirst = this.#pending === 0 && isIdle(this.client);
    if (this.#pending === 0) this.#hasFailed = false;
    this.#pending += 1;
    this.#joinWrites();
    try {
      const result: unknown = await this.client.query({ text, name, values: all });
      return (Array.isArray(result) ? result.at(-1) : result) as QueryResult<Row>;
    } catch (error) {
      if (!isStatementError(error)) this.#broken = true;
      const failure = toDatabaseError(error);
      // A name that one statement was to prepare is missing to those behind it.
      const isFollowing = this.#hasFailed;
      this.#hasFailed = true;
      if (isFollowing) throw failure;
      if (isStalePlan(failure) && given === undefined) this.names.renew(text);
      else if (failure instanceof PreparedStatementError && this.names.areSent)
        this.names.areSent = false;
      else throw failure;
      // Nothing was executed. A transaction is over, also where its end was sent with the statement and the session is idle
      // again: the statement would run outside of it. Its caller may begin it again.
      if (!isFirst || this.#pending > 1 || !isIdle(this.client)) throw failure;
    } finally {
      this.#pending -= 1;
    }
    return this.query<Row>(query, values);
  }

  /** Sends what is asked for in one turn of the event loop in one packet. */
  #joinWrites(): void {
    const { stream } = (this.client as PoolClient & { readonly connection: { stream: Writable } })
      .connection;
    if (stream.writableCorked > 0) return;
    stream.cork();
    setImmediate(() => stream.uncork());
  }

  release(error?: Error | boolean): void {
    if (this.#released) throw new DatabaseClosedError("The client was released before.");
    this.#released = true;
    // Ending the session rolls back a transaction that was left open.
    const end = error || this.#broken || this.lost.aborted || !isIdle(this.client);
    if (!end) this.client.off("error", this.#onError); // The pool handles its errors now; an ended session has none.
    this.client.release(end);
  }
}

function asConfig(query: string | QueryConfig): QueryConfig {
  return typeof query === "string" ? { text: query } : query;
}

/** False for errors that end the session: the server's fatal ones, and those of the connection. */
function isStatementError(error: unknown): boolean {
  return error instanceof Error && "severity" in error && error.severity === "ERROR";
}

/** False inside a transaction. */
function isIdle(client: PoolClient): boolean {
  // Not yet in @types/pg: the status letter of the last ReadyForQuery message, `I` outside transactions.
  const status = (
    client as PoolClient & { getTransactionStatus(): string | null }
  ).getTransactionStatus();
  return status === "I";
}

/** Node gives a host with two addresses one error with an empty message that holds one error for each. */
function connectionFailure(error: unknown): string {
  if (error instanceof AggregateError && error.message === "")
    return error.errors.map(connectionFailure).join(", ");
  const message = error instanceof Error ? error.message : String(error);
  // What PgBouncer answers to a parameter that it does not pass on.
  if (!message.startsWith("unsupported startup parameter")) return message;
  return `${message}; list it in ignore_startup_parameters of the pooler, and set the limit for the role`;
}
