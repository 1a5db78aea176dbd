import { type Clock, type IdSource, systemClock, systemIds } from "../../clock.ts";
import { checkTenantId } from "../../memory/check-entry.ts";
import type { MemoryDatabase, MemoryStore } from "../../memory/store.ts";
import type { Database } from "../database.ts";
import { loadMigrations, migrate } from "../migrate.ts";
import { quoteIdentifier } from "../pool.ts";
import { openTenantPool, withAllTenants } from "../tenant.ts";
import { DatabaseMemoryStore, type MemoryTables } from "./database-memory-store.ts";
import { sweepStatement } from "./entry-statements.ts";
import { openVectorIndex } from "./vector-index.ts";

export interface DatabaseMemoryOptions {
  /** Schema of the tables, made if need be. Any name: it is escaped. Default `stratagraph`. */
  readonly schema?: string;
  /**
   * `auto`: pgvector searches vectors where the server has it and the user may use it, which a warning tells otherwise.
   * `scan`: they are compared one by one, exactly, in this process. Default `auto`.
   */
  readonly vectors?: "auto" | "scan";
  /**
   * Entries that a search by vector compares one by one, which is exact; where more are selected, an index finds them
   * approximately. Default 2,000.
   */
  readonly exactUpTo?: number;
  readonly clock?: Clock;
  readonly ids?: IdSource;
}

/** Memories in a database. */
export interface DatabaseMemory extends MemoryDatabase {
  /** Makes the tables, unless they are there; any number of times, and by any number of processes at once. */
  setup(): Promise<void>;
  /** Removes expired entries of all tenants; returns how many. Needs the user who owns the tables. */
  sweepAll(): Promise<number>;
}

const tables = ["memory_entry", "memory_archive", "memory_use", "memory_model"];

/**
 * The memories in a Postgres or PGlite database, which stays the caller's. The first call makes the tables.
 *
 * @throws {InvalidIdentifierError} for a schema that Postgres cannot have
 * @example
 * const memories = openDatabaseMemory(await openDatabase());
 * const store = memories.forTenant(defaultTenant);
 * await store.add([{ namespace: ["agents", "support"], content: "The user prefers short answers." }]);
 */
export function openDatabaseMemory(
  database: Pick<Database, "pool">,
  options: DatabaseMemoryOptions = {},
): DatabaseMemory {
  const { schema = "stratagraph", clock = systemClock, ids = systemIds } = options;
  const { exactUpTo = 2_000 } = options;
  const quoted = quoteIdentifier(schema);
  const stores = new Map<string, MemoryStore>();
  let opened: Promise<MemoryTables> | undefined;

  const open = async (): Promise<MemoryTables> => {
    const { pool } = database;
    const migrations = await loadMigrations(new URL("migrations", import.meta.url));
    await migrate(pool, { schema, name: "memory", migrations });
    const vectors =
      options.vectors === "scan" ? undefined : await openVectorIndex(pool, { schema, exactUpTo });
    const tenants = await openTenantPool(pool, {
      schema,
      tables: vectors ? [...tables, "memory_vector"] : tables,
      uses: vectors ? [vectors.extension] : [],
    });
    return { tenants, schema: quoted, vectors: vectors?.index ?? null };
  };
  const ready = () =>
    (opened ??= open().catch((error: unknown) => {
      opened = undefined;
      throw error;
    }));
  const exists = async () => {
    if (opened !== undefined) return true;
    // Not by `to_regclass`, which fails without the right to use the schema.
    const { rows } = await database.pool.query(
      `select from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = $1 and c.relname = 'memory_entry'`,
      [schema],
    );
    return rows.length > 0;
  };

  return {
    forTenant(tenantId) {
      const store =
        stores.get(tenantId) ??
        new DatabaseMemoryStore(checkTenantId(tenantId), {
          database,
          ready,
          exists,
          clock,
          ids,
        });
      stores.set(tenantId, store);
      return store;
    },
    async setup() {
      await ready();
    },
    async sweepAll() {
      await ready();
      const now = clock.now().toISOString();
      return withAllTenants(database.pool, async (client) => {
        const { rows } = await client.query<{ removed: number }>(sweepStatement(quoted), [now]);
        return rows[0]!.removed;
      });
    },
  };
}
