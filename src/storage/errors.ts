import { StratagraphError } from "../errors.ts";

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

/** A query came after the database was closed, or after its client was released. */
export class DatabaseClosedError extends StratagraphError {
  readonly code = "database_closed";
}

/** The one session of an embedded database was not given back in time. */
export class DatabaseBusyError extends StratagraphError {
  readonly code = "database_busy";
  override readonly kind = "run";

  constructor(readonly waitedMs: number) {
    super(
      `No free session after ${waitedMs} ms: an embedded database has one, and a client holds it. ` +
        `Release clients, and inside a transaction query the client, not the pool.`,
    );
  }
}
