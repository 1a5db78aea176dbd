import { DatabaseClosedError } from "./errors.ts";
import type { PGliteConnection } from "./pglite-connection.ts";
import type { DatabaseClient, DatabasePool, QueryConfig, QueryResult } from "./pool.ts";

/**
 * A pool with one session: a second client waits until the first is released. So a `pool.query` by code that holds a
 * client waits for itself, and fails with {@link DatabaseBusyError} after `waitMs` milliseconds.
 */
export class PGlitePool implements DatabasePool {
  #ended: Promise<void> | undefined;

  constructor(
    private readonly connection: PGliteConnection,
    private readonly waitMs: number,
    private readonly onEnd: () => Promise<void>,
  ) {}

  get heldLocks(): Set<string> {
    return this.connection.heldLocks;
  }

  async connect(): Promise<DatabaseClient> {
    if (this.#ended)
      throw new DatabaseClosedError("The database is closed: open it again to query it.");
    await this.connection.take(this.waitMs);
    return new PGliteClient(this.connection);
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
    return (this.#ended ??= this.onEnd());
  }
}

class PGliteClient implements DatabaseClient {
  #released = false;
  #last: Promise<unknown> = Promise.resolve();

  constructor(private readonly connection: PGliteConnection) {}

  async query<Row>(
    query: string | QueryConfig,
    values?: readonly unknown[],
  ): Promise<QueryResult<Row>> {
    if (this.#released)
      throw new DatabaseClosedError("The client was released: take another from the pool.");
    const result = this.#last.then(() => this.connection.run<Row>(query, values));
    this.#last = result.catch(() => undefined);
    return result;
  }

  release(): void {
    if (this.#released) throw new DatabaseClosedError("The client was released before.");
    this.#released = true;
    // Queries that nobody awaited end before the session changes hands. A session too broken to roll back says so to
    // the next query.
    void this.#last.then(() => this.connection.give()).catch(() => undefined);
  }
}
