import { StratagraphError } from "../errors.ts";
import { DatabasePermissionError, sqlStateOf } from "./errors.ts";
import {
  type DatabaseClient,
  type DatabasePool,
  type Queryable,
  type QueryConfig,
  type QueryResult,
  quoteIdentifier,
} from "./pool.ts";
import { begin, idleLimit, runAlone, TransactionFailedError } from "./transaction.ts";

/**
 * The role that statements of tenants run as where row-level security would not hold for the user of the session. One
 * for all databases of a server; it cannot log in, and owns nothing.
 */
const tenantRole = "stratagraph_tenant";

export { defaultTenant } from "../memory/store.ts";

/** A tenant's id is no UUID in lower case. */
export class InvalidTenantError extends StratagraphError {
  readonly code = "invalid_tenant";

  constructor(readonly tenantId: string) {
    super(
      `Expected the id of a tenant as a UUID in lower case, got ${JSON.stringify(tenantId.slice(0, 100))}.`,
    );
  }
}

/** Row-level security does not hold for the user of the database, and no role for which it holds can be used. */
export class TenantIsolationError extends StratagraphError {
  readonly code = "tenant_isolation";

  constructor(
    readonly user: string,
    role: string,
    reason: string,
  ) {
    super(
      `The tenants of the database cannot be kept apart: the user ${JSON.stringify(user)} bypasses row-level security, and ${reason}. ` +
        `Connect as a user without SUPERUSER and BYPASSRLS, or run as an administrator: ` +
        `create role ${quoteIdentifier(role)} nologin; grant ${quoteIdentifier(role)} to ${quoteIdentifier(user)};`,
    );
  }
}

/** A database whose tables keep tenants apart. */
export interface TenantPool {
  readonly pool: DatabasePool;
  /** What statements of tenants run as; null where row-level security holds for the user of the session. */
  readonly role: string | null;
}

/** UUIDs in lower case: they may stand in a statement as they are. */
export const tenantIdPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Runs `work` in a transaction that reads and writes rows of one tenant alone, whatever its statements leave out. It is
 * committed when `work` ends, and rolled back if that throws.
 *
 * @throws {InvalidTenantError} for an id that is no UUID in lower case
 */
export async function withTenant<T>(
  { pool, role }: TenantPool,
  tenant: string,
  work: (client: Queryable) => Promise<T>,
): Promise<T> {
  return inTransaction(pool, settingsOf(role, tenant), work);
}

/**
 * Runs one statement as {@link withTenant} does, in one round trip to the server.
 *
 * @throws {InvalidTenantError} for an id that is no UUID in lower case
 */
export async function queryTenant<Row>(
  { pool, role }: TenantPool,
  tenant: string,
  statement: QueryConfig,
): Promise<QueryResult<Row>> {
  return queryAlone<Row>(pool, settingsOf(role, tenant), statement);
}

/**
 * Runs one statement as {@link queryTenant} does, with a plan that reads tables in the order of an index. For pages of large
 * lists: with old statistics, or none, the planner takes a tenant's rows for few, and sorts all of them.
 */
export async function queryTenantInOrder<Row>(
  { pool, role }: TenantPool,
  tenant: string,
  statement: QueryConfig,
): Promise<QueryResult<Row>> {
  return queryAlone<Row>(pool, `${settingsOf(role, tenant)}; ${inOrder}`, statement);
}

/** The cost of a sort that remains would have it compiled. */
const inOrder = [
  "enable_seqscan",
  "enable_bitmapscan",
  "enable_sort",
  "enable_incremental_sort",
  "jit",
]
  .map((setting) => `set local ${setting} = off`)
  .join("; ");

function settingsOf(role: TenantPool["role"], tenant: string): string {
  if (!tenantIdPattern.test(tenant)) throw new InvalidTenantError(tenant);
  const asRole = role === null ? "" : `set local role ${quoteIdentifier(role)}; `;
  return `${asRole}set local app.tenant = '${tenant}'`;
}

/**
 * Runs `work` in a transaction that reads and writes rows of all tenants: for upkeep, and nothing else. It needs the user
 * who owns the tables, or one who bypasses row-level security; any other user reads nothing here.
 */
export async function withAllTenants<T>(
  pool: DatabasePool,
  work: (client: Queryable) => Promise<T>,
): Promise<T> {
  return inTransaction(pool, upkeep, work);
}

/** Runs one statement as {@link withAllTenants} does, in one round trip to the server. */
export async function queryAllTenants<Row>(
  pool: DatabasePool,
  statement: QueryConfig,
): Promise<QueryResult<Row>> {
  return queryAlone<Row>(pool, upkeep, statement);
}

const upkeep = "set local app.upkeep = 'on'";

async function inTransaction<T>(
  pool: DatabasePool,
  settings: string,
  work: (client: Queryable) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  // One simple query: no round trip more than `begin` alone takes.
  const begun = begin(client, `${beginWith(settings)}; ${idleLimit}`);
  try {
    await begun.sent;
    const result = await work(client);
    const { command } = await client.query("commit");
    // A begin that a cancellation or a pooler refused before its first word ran leaves nothing to roll back.
    if (command === "ROLLBACK" || (await begun.failure) !== null)
      throw new TransactionFailedError();
    return result;
  } catch (error) {
    // On a session that broke this fails too; what broke it is the error to show.
    await client.query("rollback").catch(() => undefined);
    throw (await begun.failure) ?? error;
  } finally {
    client.release();
  }
}

async function queryAlone<Row>(
  pool: DatabasePool,
  settings: string,
  statement: QueryConfig,
): Promise<QueryResult<Row>> {
  const client = await pool.connect();
  try {
    return await runAlone<Row>(client, { text: beginWith(settings) }, statement);
  } finally {
    client.release();
  }
}

function beginWith(settings: string): string {
  return `begin isolation level read committed; ${settings}`;
}

export interface TenantTables {
  readonly schema: string;
  readonly tables: readonly string[];
  /** The role of tenants. Default {@link tenantRole}. */
  readonly role?: string;
  /** Schemas whose types and functions statements use. */
  readonly uses?: readonly string[];
  /** Sequences of the schema from which statements take numbers. */
  readonly sequences?: readonly string[];
  /** Functions of the schema that statements or triggers call, with their argument types: `label(jsonb, text)`. */
  readonly functions?: readonly string[];
}

/**
 * Finds out how statements of tenants are to run on tables that have row-level security, and makes the role for them
 * where that is needed and allowed. If all is there, it only reads.
 *
 * @throws {TenantIsolationError} if the user bypasses row-level security and the role cannot be used
 */
export async function openTenantPool(
  pool: DatabasePool,
  tables: TenantTables,
): Promise<TenantPool> {
  const { role = tenantRole } = tables;
  const client = await pool.connect();
  try {
    let state = await readState(client, tables);
    if (!state.bypasses && !state.owns) return { pool, role: null };
    if (!state.isUnsafe && !isReady(state)) {
      await makeRole(client, tables, state);
      state = await readState(client, tables);
    }
    if (!state.isUnsafe && isReady(state)) return { pool, role };
    // The tables force row-level security upon their owner as well.
    if (!state.bypasses) return { pool, role: null };
    const reason = state.isUnsafe
      ? `the role ${role} does as well`
      : `the role ${role} is not there, or not granted`;
    throw new TenantIsolationError(state.user, role, reason);
  } finally {
    client.release();
  }
}

interface State {
  readonly user: string;
  /** Whether row-level security does not hold for the user. */
  readonly bypasses: boolean;
  readonly owns: boolean;
  readonly exists: boolean;
  /** Whether row-level security does not hold for the role. */
  readonly isUnsafe: boolean;
  /** Whether the role may use the tables. */
  readonly isGranted: boolean;
  /** Whether the session may become the role. */
  readonly isUsable: boolean;
}

function isReady({ exists, isGranted, isUsable }: State): boolean {
  return exists && isGranted && isUsable;
}

async function readState(
  client: DatabaseClient,
  { schema, tables, role = tenantRole, uses = [], sequences = [], functions = [] }: TenantTables,
): Promise<State> {
  const { rows } = await client.query<Omit<State, "isUsable">>(
    `select u.rolname as "user", u.rolsuper or u.rolbypassrls as bypasses, t.oid is not null as "exists",
      coalesce(t.rolsuper or t.rolbypassrls, false) as "isUnsafe",
      coalesce((select bool_or(pg_has_role(c.relowner, 'usage')) from pg_class c
        where c.relnamespace = n.oid and c.relname = any($2::text[])), false) as owns,
      coalesce((select bool_and(has_schema_privilege(t.oid, o.oid, 'usage'))
        from pg_namespace o where o.nspname = any($4::text[])) and (select bool_and(
          has_table_privilege(t.oid, c.oid, 'select') and has_table_privilege(t.oid, c.oid, 'insert')
          and has_table_privilege(t.oid, c.oid, 'update') and has_table_privilege(t.oid, c.oid, 'delete'))
        from pg_class c where c.relnamespace = n.oid and c.relname = any($2::text[]))
      and not exists (select from unnest($5::text[]) s
        where not has_sequence_privilege(t.oid, format('%I.%I', n.nspname, s), 'usage'))
      and not exists (select from unnest($6::text[]) f
        where not has_function_privilege(t.oid, format('%I.%s', n.nspname, f), 'execute')), false) as "isGranted"
    from pg_roles u join pg_namespace n on n.nspname = $1 left join pg_roles t on t.rolname = $3
    where u.rolname = current_user`,
    [schema, tables, role, [schema, ...uses], sequences, functions],
  );
  const state = rows[0]!;
  return { ...state, isUsable: state.exists && (await canBecomeRole(client, role)) };
}

/** What others may have made first, and a role that could not be made: whether all is there is read afterwards. */
const expected = new Set(["42710", "23505", "42704", "42501"]);

/** Any number; the same in every process that makes the role. */
const ROLE_LOCK = 6_045_318_278;

/** Does as much as the user may do. Processes on other databases of the server may do the same at the same time. */
async function makeRole(
  client: DatabaseClient,
  { schema, tables, role = tenantRole, uses = [], sequences = [], functions = [] }: TenantTables,
  { user, exists }: State,
): Promise<void> {
  const name = quoteIdentifier(schema);
  const tenant = quoteIdentifier(role);
  const all = tables.map((table) => `${name}.${quoteIdentifier(table)}`).join(", ");
  const attempt = async (statement: string): Promise<boolean> => {
    try {
      await client.query(`begin; select pg_advisory_xact_lock(${ROLE_LOCK}); ${statement}; commit`);
      return true;
    } catch (error) {
      await client.query("rollback");
      if (expected.has(stateOf(error))) return false;
      throw error;
    }
  };
  if (!exists) await attempt(`create role ${tenant} nologin nosuperuser nobypassrls`);
  for (const used of [schema, ...uses])
    await attempt(`grant usage on schema ${quoteIdentifier(used)} to ${tenant}`);
  await attempt(`grant select, insert, update, delete on ${all} to ${tenant}`);
  for (const sequence of sequences)
    await attempt(`grant usage on sequence ${name}.${quoteIdentifier(sequence)} to ${tenant}`);
  for (const signature of functions)
    await attempt(`grant execute on function ${name}.${signature} to ${tenant}`);
  if (!(await canBecomeRole(client, role)))
    await attempt(`grant ${tenant} to ${quoteIdentifier(user)}`);
}

async function canBecomeRole(client: DatabaseClient, role: string): Promise<boolean> {
  try {
    await client.query(`begin; set local role ${quoteIdentifier(role)}`);
    return true;
  } catch (error) {
    if (NOT_ALLOWED.has(stateOf(error))) return false;
    throw error;
  } finally {
    await client.query("rollback");
  }
}

/** No right to become the role, and no role of the name. */
const NOT_ALLOWED = new Set(["42501", "22023"]);

function stateOf(error: unknown): string {
  const state = error instanceof DatabasePermissionError ? error.sqlState : sqlStateOf(error);
  return state ?? "";
}
