import { type Clock, type IdSource, systemClock, systemIds } from "../../clock.ts";
import type { Database } from "../database.ts";
import { loadMigrations, migrate } from "../migrate.ts";
import { type DatabasePool, quoteIdentifier } from "../pool.ts";
import { openTenantPool, type TenantPool } from "../tenant.ts";
import { Agents } from "./agents.ts";
import { ApiKeys } from "./api-keys.ts";
import { AuditLog } from "./audit.ts";
import { RunEvents } from "./runs/events.ts";
import { Idempotency } from "./idempotency.ts";
import { Instances } from "./runs/instances.ts";
import { ThreadSearch } from "./runs/thread-search.ts";
import { Partitions } from "./partitions.ts";
import { createValueCipher, type ValueCipher } from "../encryption/value-cipher.ts";
import type { PlatformTables } from "./platform.ts";
import type { ArchiveTarget } from "../retention/archive-target.ts";
import { Archives } from "../retention/archives.ts";
import { RetentionStates } from "../retention/retention-state.ts";
import { RunClaims } from "./runs/claims.ts";
import { Runs } from "./runs/runs.ts";
import { ScheduleFirings } from "./time/schedule-firings.ts";
import { Schedules } from "./time/schedules.ts";
import { ThreadEvents } from "./time/thread-events.ts";
import { Timers } from "./time/timers.ts";
import { Workers } from "./runs/workers.ts";
import { TenantSecrets } from "./tools/secrets.ts";
import { TenantRows } from "./tenant-rows.ts";
import { Tenants } from "./tenants.ts";
import { Tools } from "./tools/tools.ts";
import { UsageDays } from "./usage.ts";
import { Webhooks } from "./webhooks.ts";

export interface PlatformOptions {
  /** Schema of the tables, made if need be. Any name: it is escaped. Default `stratagraph`. */
  readonly schema?: string;
  readonly clock?: Clock;
  /** Version 7 UUIDs: the time in an id is the day of its row. */
  readonly ids?: IdSource;
  /** Seals inputs, outputs, messages, events and secrets before they are stored. Default: they are stored as plain JSON. */
  readonly cipher?: ValueCipher;
  /** Where archives are. Default: nowhere, and nothing is archived. */
  readonly archive?: ArchiveTarget | null;
}

/** The tables of the platform, with a store for each subject. */
export interface Platform {
  /** For statements of other modules on the same tables. */
  readonly tables: PlatformTables;
  /** Writes and reads the columns of JSON that are sealed. */
  readonly values: ValueCipher;
  readonly tenants: Tenants;
  /** Counts, exports and deletes all that is a tenant's. */
  readonly tenantRows: TenantRows;
  readonly apiKeys: ApiKeys;
  readonly agents: Agents;
  readonly instances: Instances;
  readonly threads: ThreadSearch;
  readonly runs: Runs;
  /** The runs as workers take and end them. */
  readonly claims: RunClaims;
  readonly events: RunEvents;
  /** The processes that take runs. */
  readonly workers: Workers;
  readonly tools: Tools;
  /** What `{{secret:NAME}}` stands for in definitions of tenants. */
  readonly secrets: TenantSecrets;
  readonly webhooks: Webhooks;
  readonly schedules: Schedules;
  /** The schedules as the engine takes them when they are due. */
  readonly firings: ScheduleFirings;
  readonly timers: Timers;
  /** Events that are sent to threads. */
  readonly threadEvents: ThreadEvents;
  readonly idempotency: Idempotency;
  readonly usage: UsageDays;
  readonly audit: AuditLog;
  readonly partitions: Partitions;
  readonly archives: Archives;
  /** How far retention has come in each tenant. */
  readonly retention: RetentionStates;
}

const names = [
  "tenant",
  "api_key",
  "agent_definition",
  "agent_instance",
  "run",
  "cancel_request",
  "tool",
  "tool_binding",
  "secret",
  "webhook",
  "webhook_delivery",
  "idempotency_key",
  "usage_day",
  "turn",
  "tool_call",
  "llm_call",
  "run_event",
  "audit_log",
  "schedule",
  "timer",
  "thread_event",
  "archive",
  "retention_state",
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
  const { cipher: values = createValueCipher([]) } = options;
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
  const partitions = new Partitions(tables);
  const events = new RunEvents(tables, values, partitions);
  const archives = new Archives(tables, values, options.archive ?? null);
  return {
    tables,
    values,
    tenants: new Tenants(tables),
    tenantRows: new TenantRows(tables, values, archives),
    apiKeys: new ApiKeys(tables),
    agents: new Agents(tables),
    instances: new Instances(tables, values),
    threads: new ThreadSearch(tables, values),
    runs: new Runs(tables, values, { events, partitions }),
    claims: new RunClaims(tables, { values, events, partitions }),
    events,
    workers: new Workers(tables),
    tools: new Tools(tables),
    secrets: new TenantSecrets(tables, values, options.cipher !== undefined),
    webhooks: new Webhooks(tables, values),
    schedules: new Schedules(tables, values),
    firings: new ScheduleFirings(tables, values),
    timers: new Timers(tables, values),
    threadEvents: new ThreadEvents(tables, values),
    idempotency: new Idempotency(tables, values),
    usage: new UsageDays(tables),
    audit: new AuditLog(tables, partitions),
    partitions,
    archives,
    retention: new RetentionStates(tables),
  };
}

async function prepare(pool: DatabasePool, schema: string, clock: Clock): Promise<TenantPool> {
  const migrations = await loadMigrations(new URL("migrations", import.meta.url));
  await migrate(pool, { schema, name: "platform", migrations });
  const tenants = await openTenantPool(pool, { schema, tables: names });
  const tables = { tenants, schema: quoteIdentifier(schema), clock };
  await new Partitions(tables).ensure();
  return tenants;
}
