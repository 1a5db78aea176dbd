import type { DatabasePool, QueryConfig } from "../../src/storage/pool.ts";

/** The rows that statements under a name have read of each table, whether they are in a result or not. */
export type RowsRead = ReadonlyMap<string, Readonly<Record<string, number>>>;

/** A pool that counts the rows which statements with a name read. */
export class ReadingPool implements DatabasePool {
  readonly #read = new Map<string, Record<string, number>>();

  constructor(private readonly pool: DatabasePool) {}

  get heldLocks(): Set<string> {
    return this.pool.heldLocks!; // Absent where that of the pool is.
  }

  query: DatabasePool["query"] = (...of) => this.pool.query(...of);

  async connect() {
    const client = await this.pool.connect();
    // Those of the session that are not flushed to its statistics, from earlier transactions as well.
    const counted = async () => {
      const { rows } = await client.query<{ table: string; read: number }>(
        `select relname as "table", (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as read
        from pg_stat_xact_user_tables where schemaname <> 'pg_toast'`,
      );
      return new Map(rows.map(({ table, read }) => [table, read]));
    };
    return {
      release: (error?: Error | boolean) => client.release(error),
      query: async <Row>(query: string | QueryConfig, values?: readonly unknown[]) => {
        if (typeof query === "string" || query.name === undefined)
          return client.query<Row>(query, values);
        const before = await counted();
        const result = await client.query<Row>(query, values);
        const rows = [...(await counted())].map(
          ([table, read]) => [table, read - (before.get(table) ?? 0)] as const,
        );
        this.#read.set(query.name, Object.fromEntries(rows.filter(([, read]) => read !== 0)));
        return result;
      },
    };
  }

  async end() {
    await this.pool.end();
  }

  /** Counts anew, and returns what the statements of `work` have read, each the last time. */
  async during(work: () => Promise<unknown>): Promise<RowsRead> {
    this.#read.clear();
    await work();
    return new Map(this.#read);
  }
}
