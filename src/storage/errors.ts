import { type ErrorKind, StratagraphError } from "../errors.ts";

/** No connection to the Postgres server. `url` has its secrets taken out. */
export class DatabaseConnectionError extends StratagraphError {
  readonly code = "database_connection";

  constructor(
    readonly url: string,
    reason: string,
    options?: { cause?: unknown },
  ) {
    super(
      `Cannot connect to Postgres at ${url}: ${reason}. Check that the server runs and that DATABASE_URL is right.`,
      options,
    );
  }
}

/** A pooler between this process and Postgres keeps notices back. */
export class NoticesKeptBackError extends StratagraphError {
  readonly code = "notices_kept_back";

  constructor() {
    super(
      "Expected the database to deliver notices, got none: a pooler by transaction does not pass them on. " +
        "Streams of other processes are polled. Set a listen URL that reaches Postgres directly.",
    );
  }
}

/** A pooler between this process and Postgres gives its sessions to others, so that locks of sessions hold nothing. */
export class PooledSessionError extends StratagraphError {
  readonly code = "pooled_session";

  constructor() {
    super(
      "Expected a session of Postgres for the locks of threads, got one that a pooler shares by transaction. " +
        "Set STRATAGRAPH_LISTEN_URL to a URL that reaches Postgres directly, or pool by session.",
    );
  }
}

/** A number that is not one of its kind was given to an option of a database or of its checkpointer. */
export class StorageOptionError extends StratagraphError {
  readonly code = "storage_option";

  constructor(
    readonly option: string,
    expected: string,
    got: unknown,
  ) {
    super(`${option}: expected ${expected}, got ${String(got)}.`);
  }
}

/** A query came after the database was closed, or after its client was released. */
export class DatabaseClosedError extends StratagraphError {
  readonly code = "database_closed";
}

/** All sessions of a database were in use, and none was given back in time. An embedded database has one. */
export class DatabaseBusyError extends StratagraphError {
  readonly code = "database_busy";
  override readonly kind = "run";
  override readonly transient = true;
  override readonly leavesTurnOpen = true;

  constructor(
    readonly waitedMs: number,
    readonly sessions: number,
  ) {
    super(
      `No free session after ${waitedMs} ms: ${sessions === 1 ? "the one there is" : `all ${sessions}`} ` +
        `in use. Release clients, and inside a transaction query the client, not the pool.`,
    );
  }
}

/** A run was claimed by another worker since: nothing was written. */
export class LeaseLostError extends StratagraphError {
  readonly code = "lease_lost";
  override readonly kind = "run";
  override readonly leavesTurnOpen = true;
  readonly runId: string;
  /** The epoch under which the write came; the run's is above it. */
  readonly epoch: number;

  constructor({ runId, epoch }: { readonly runId: string; readonly epoch: number }) {
    super(
      `Expected epoch ${epoch} of run ${runId} to be its newest, but another worker has claimed the run since, or it was deleted. ` +
        "Nothing was written. Stop this execution: the other worker continues it.",
    );
    this.runId = runId;
    this.epoch = epoch;
  }
}

/** A failure whose cause is the database and not the statement. The text of the statement and its values are not in it. */
abstract class DatabaseFailure extends StratagraphError {
  override readonly kind: ErrorKind = "run";

  constructor(
    message: string,
    /** Five characters, as in the appendix on error codes of the Postgres manual; null where no server was heard. */
    readonly sqlState: string | null,
    cause: unknown,
  ) {
    super(message, { cause });
  }
}

/** The session was lost, or no new one is available. Open transactions are rolled back. */
export class DatabaseUnavailableError extends DatabaseFailure {
  readonly code = "database_unavailable";
  override readonly transient = true;
  override readonly leavesTurnOpen = true;

  constructor(reason: string, sqlState: string | null, cause: unknown) {
    super(
      `The database is not available: ${reason}. What was committed is kept; try again when it answers.`,
      sqlState,
      cause,
    );
  }
}

/** A pooler has moved the connection to a session that lacks its prepared statements, or has another one's. */
export class PreparedStatementError extends DatabaseFailure {
  readonly code = "prepared_statement";

  constructor(reason: string, sqlState: string | null, cause: unknown) {
    super(
      `A prepared statement is not as this process left it: ${reason}. A pooler shares sessions and does not follow them. ` +
        "Set STRATAGRAPH_PREPARED_STATEMENTS=false, or use PgBouncer 1.21 with max_prepared_statements.",
      sqlState,
      cause,
    );
  }
}

/** No space is left where the database keeps its files. */
export class DatabaseFullError extends DatabaseFailure {
  readonly code = "database_full";

  constructor(reason: string, sqlState: string | null, cause: unknown) {
    super(
      `The database has no space left: ${reason}. Free some on its disk, then try again.`,
      sqlState,
      cause,
    );
  }
}

/** The database takes no writes: a standby, a session set to read only, files on a read-only disk. */
export class DatabaseReadOnlyError extends DatabaseFailure {
  readonly code = "database_read_only";

  constructor(reason: string, sqlState: string | null, cause: unknown) {
    super(
      `The database only lets itself be read: ${reason}. Connect to one that takes writes, or lift the setting.`,
      sqlState,
      cause,
    );
  }
}

/** The role, or the user of this process where the database is embedded, may not do what is needed. */
export class DatabasePermissionError extends DatabaseFailure {
  readonly code = "database_permission";
  override readonly kind = "usage";

  constructor(reason: string, sqlState: string | null, cause: unknown) {
    super(
      `The database refuses: ${reason}. Grant the right, or connect as another role.`,
      sqlState,
      cause,
    );
  }
}

/** The server ended a statement because of a timeout or a cancellation. */
export class DatabaseTimeoutError extends DatabaseFailure {
  readonly code = "database_timeout";

  constructor(reason: string, sqlState: string | null, cause: unknown) {
    super(
      `The database ended a statement: ${reason}. Raise statementTimeoutMs, or find out what held the statement up.`,
      sqlState,
      cause,
    );
  }
}

type Failure = new (reason: string, sqlState: string | null, cause: unknown) => Error;

/** SQLSTATEs, and the codes of Node for what a system call met. */
const FAILURES: Readonly<Record<string, Failure>> = {
  "53100": DatabaseFullError,
  ENOSPC: DatabaseFullError,
  EDQUOT: DatabaseFullError,
  "25006": DatabaseReadOnlyError,
  EROFS: DatabaseReadOnlyError,
  "42501": DatabasePermissionError,
  EACCES: DatabasePermissionError,
  EPERM: DatabasePermissionError,
  "57014": DatabaseTimeoutError,
  "26000": PreparedStatementError,
  "42P05": PreparedStatementError,
  "57P01": DatabaseUnavailableError, // An administrator ended the session.
  "57P02": DatabaseUnavailableError, // The server crashed.
  "57P03": DatabaseUnavailableError, // It starts up, or shuts down.
  ECONNREFUSED: DatabaseUnavailableError,
  ECONNRESET: DatabaseUnavailableError,
  EHOSTUNREACH: DatabaseUnavailableError,
  ENETDOWN: DatabaseUnavailableError,
  ENETUNREACH: DatabaseUnavailableError,
  ENOTFOUND: DatabaseUnavailableError,
  EAI_AGAIN: DatabaseUnavailableError,
  EPIPE: DatabaseUnavailableError,
  ETIMEDOUT: DatabaseUnavailableError,
};

/** What node-postgres and PGlite say, without any code, of a session that is gone. */
const GONE = /^Connection terminated|not queryable$|^PGlite is clos/;

/** Names of what ends the program that PGlite is: a trap of WebAssembly, and an exit. */
const ENDS = new Set(["RuntimeError", "ExitStatus"]);

/**
 * The named error for what a database threw, where the database is the cause and the statement would have done on
 * another day. Anything else comes back as it is: errors of the statement, and of code.
 */
export function toDatabaseError(thrown: unknown): unknown {
  const code = textOf(thrown, "code");
  const lost = code?.startsWith("08") || endsSession(thrown);
  const Failure = FAILURES[code ?? ""] ?? (lost ? DatabaseUnavailableError : undefined);
  return Failure ? new Failure(messageOf(thrown), sqlStateOf(thrown), thrown) : thrown;
}

/** Whether the session answers nothing more after this error. */
export function endsSession(thrown: unknown): boolean {
  const severity = textOf(thrown, "severity");
  if (severity === "FATAL" || severity === "PANIC") return true;
  return ENDS.has(textOf(thrown, "name") ?? "") || GONE.test(messageOf(thrown));
}

/** Whether a prepared statement would give other columns than when it was prepared, since a table of it was changed. */
export function isStalePlan(thrown: unknown): boolean {
  // The message is in the language of the server.
  return (
    textOf(thrown, "code") === "0A000" && textOf(thrown, "routine") === "RevalidateCachedQuery"
  );
}

/** The SQLSTATE of an error; null for errors of other kinds. The codes of Node have letters alone. */
export function sqlStateOf(thrown: unknown): string | null {
  const code = textOf(thrown, "code");
  return code !== undefined && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : null;
}

function messageOf(thrown: unknown): string {
  return textOf(thrown, "message") ?? String(thrown);
}

function textOf(thrown: unknown, key: string): string | undefined {
  const value = (thrown as Record<string, unknown> | null | undefined)?.[key];
  return typeof value === "string" ? value : undefined;
}
