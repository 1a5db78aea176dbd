import { type Clock, type IdSource, systemClock, systemIds } from "../../clock.ts";
import type { Database } from "../database.ts";
import { loadMigrations, migrate } from "../migrate.ts";
import { type DatabasePool, quoteIdentifier } from "../pool.ts";
import { openTenantPool, type TenantPool } from "../tenant.ts";
import { Partitions } from "./partitions.ts";
import type { PlatformTables, ValueCipher } from "./platform.ts";
import { plainValues } from "./values.ts";

export interface PlatformOptions {
  /** Schema of the tables, made if need be. Any name: it is escaped. Default `stratagraph`. */
  readonly schema?: string;
  readonly clock?: Clock;
  /** Version 7 UUIDs: the time in an id is the day of its row. */
  readonly ids?: IdSource;
  /** Seals inputs, outputs, messages, events and secrets before they are stored. Default: they are stored as plain JSON. */
  readonly cipher?: ValueCipher;
}

/** The tables of the platform, with a store for each subject. */
export interface Platform {
  /** For statements of other modules on the same tables. */
  readonly tables: PlatformTables;
  /** Writes and reads the columns of JSON that are sealed. */
  readonly values: ValueCipher;
  readonly partitions: Partitions;
}

const names = [
  ...["tenant", "api_key", "agent_definition", "agent_instance", "run", "cancel_request", "tool"],
  ...["tool_binding", "webhook", "webhook_delivery", "idempotency_key", "usage_day"],
  ...["turn", "tool_call", "llm_call", "run_event", "audit_log"],
];

/** Tables that were made ready in this process, by pool and schema. */
const opened = new WeakMap<DatabasePool, Map<string, Promise<TenantPool>>>();

/**
 * Makes the tables of the platform, unless they are there, with the partitions of the next days. Any number of times,
 * and by any number of processes at once; a process does it once for each pool. The database stays the caller's.
 *
 * @throws {InvalidIdentifierError} for a schema that Postgres cannot have
 * @throws {TenantIsolationError} if row-level security cannot be made to hold
 */
export async function openPlatform(
  database: Pick<Database, "pool">,
  options: PlatformOptions = {},
): Promise<Platform> {
  const { schema = "stratagraph", clock = systemClock, ids = systemIds } = options;
  const { cipher: values = plainValues } = options;
  const quoted = quoteIdentifier(schema);
  const { pool } = database;
  const schemas = opened.get(pool) ?? new Map<string, Promise<TenantPool>>();
  opened.set(pool, schemas);
  let opening = schemas.get(schema);
  if (opening === undefined) {
    opening = prepare(pool, schema, clock);
    schemas.set(schema, opening);
    // One that failed is tried again by the next call.
    opening.catch(() => schemas.delete(schema));
  }
  const tables: PlatformTables = { tenants: await opening, schema: quoted, clock, ids };
  return { tables, values, partitions: new Partitions(tables) };
}

async function prepare(pool: DatabasePool, schema: string, clock: Clock): Promise<TenantPool> {
  const migrations = await loadMigrations(new URL("migrations", import.meta.url));
  await migrate(pool, { schema, name: "platform", migrations });
  const tenants = await openTenantPool(pool, { schema, tables: names });
  const tables = { tenants, schema: quoteIdentifier(schema), clock };
  await new Partitions(tables).ensure();
  return tenants;
}
