import type { Database } from "../../storage/database.ts";
import { quoteIdentifier } from "../../storage/pool.ts";
import { type CliIo, UsageError } from "../io.ts";
import { printJson, printLines } from "../output.ts";
import { exitCodes } from "../report-error.ts";
import { tableLines } from "../view/table.ts";
import { plainLine } from "../view/terminal.ts";
import { outputLayout } from "../view/values.ts";
import { withDatabase } from "./open.ts";

/** Tables of one part of the package. */
interface Part {
  readonly schema: string;
  readonly name: string;
  /** Number of the newest migration. */
  readonly version: number;
  /** Migrations that this command ran. */
  readonly applied: number;
}

export interface MigrateOptions {
  /** Schema to move tables from, before they are brought up to date. */
  readonly from?: string;
  /** Whether tables of LangGraph's own saver are moved too. */
  readonly stock?: boolean;
  readonly dryRun?: boolean;
  /** Role of a server that does not own the tables. */
  readonly grant?: string;
  readonly json?: boolean;
}

/** The schema of a runtime's tables. */
const ownSchema = "stratagraph";

/**
 * `stratagraph migrate`: brings the tables of all parts up to date.
 * @throws UsageError; TablesExistError and InvalidIdentifierError with `from`
 */
export async function migrateCommand(given: MigrateOptions, io: CliIo): Promise<number> {
  const { from, stock = false, dryRun = false, grant } = given;
  if (from === undefined && (dryRun || stock))
    throw new UsageError(`Expected --from SCHEMA with ${dryRun ? "--dry-run" : "--stock"}.`);
  if (from === ownSchema)
    throw new UsageError(`Expected another schema than ${ownSchema}, where the tables belong.`);
  const { moved, parts } = await withDatabase(io, async (database) => {
    const before = await readVersions(database);
    const options = { to: ownSchema, includeStock: stock, isDryRun: dryRun };
    const { moveTables } = await import("../../storage/move-tables.ts");
    const tables =
      from === undefined ? null : await moveTables(database.pool, { from, ...options });
    if (dryRun) return { moved: tables, parts: null };
    await migrateAll(database);
    if (grant !== undefined) await grantTo(database, grant);
    const after = (await readVersions(database)).map((part) => {
      // Tables that were moved bring their version along.
      const same = [part.schema, from].map((schema) =>
        before.find((one) => one.schema === schema && one.name === part.name),
      );
      return { ...part, applied: part.version - ((same[0] ?? same[1])?.version ?? 0) };
    });
    return { moved: tables, parts: after };
  });
  if (given.json) {
    const facts = {
      ...(moved && { from, moved, dry_run: dryRun }),
      ...(parts && { parts }),
      ...(parts && grant !== undefined && { granted: grant }),
    };
    printJson(facts, io);
    return exitCodes.done;
  }
  if (from !== undefined && moved) printLines(movedLines(moved, { from, isDryRun: dryRun }), io);
  if (parts) printLines(partLines(parts, io), io);
  if (parts && grant !== undefined)
    printLines([plainLine(`The role ${grant} may use the tables.`)], io);
  return exitCodes.done;
}

function movedLines(
  moved: readonly string[],
  { from, isDryRun }: { readonly from: string; readonly isDryRun: boolean },
): readonly string[] {
  const schema = plainLine(from);
  if (moved.length === 0) return [`There are no tables to move in schema ${schema}.`, ""];
  const said = isDryRun ? "Would move" : "Moved";
  const tables = `${moved.length} table${moved.length === 1 ? "" : "s"}`;
  const lines = moved.map((name) => `  ${plainLine(name)}`);
  return [`${said} ${tables} from schema ${schema} to ${ownSchema}:`, ...lines, ""];
}

async function migrateAll(database: Database): Promise<void> {
  const [
    { openCheckpointer },
    { DatabaseToolJournal },
    { openDatabaseMemory },
    { DatabaseExperimentMemory },
    { openPlatform },
  ] = await Promise.all([
    import("../../../checkpointers/postgres.ts"),
    import("../../storage/tool-journal.ts"),
    import("../../storage/memory/database-memory.ts"),
    import("../../experiment/memory/database-memory.ts"),
    import("../../storage/platform/open-platform.ts"),
  ]);
  const { pool } = database;
  const place = { schema: ownSchema };
  const checkpointer = await openCheckpointer(database, place);
  await checkpointer.setup();
  await new DatabaseToolJournal(pool, { ...place, serde: checkpointer.serde }).setup();
  await openDatabaseMemory(database, place).setup();
  await new DatabaseExperimentMemory(pool, place).setup();
  await openPlatform(database, place);
}

/**
 * Lets a role use the tables without owning them: rows of one tenant in the transactions of tenants, and rows of all
 * tenants in those of upkeep. It may create the partitions of days through `ensure_days`, and nothing else.
 *
 * @throws UsageError for a role that is not there, or for which row-level security does not hold
 */
async function grantTo({ pool }: Database, role: string): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query("begin");
    const { rows: roles } = await client.query<{ bypasses: boolean }>(
      "select rolsuper or rolbypassrls as bypasses from pg_roles where rolname = $1",
      [role],
    );
    if (roles[0]?.bypasses !== false) {
      const reason = roles.length === 0 ? "there is none" : "it bypasses row-level security";
      throw new UsageError(
        `Expected a role without SUPERUSER and BYPASSRLS for --grant, got ${JSON.stringify(role.slice(0, 100))}: ${reason}.`,
        "invalid_role",
      );
    }
    const { rows } = await client.query<{ statement: string }>(grantStatements, [ownSchema, role]);
    for (const { statement } of rows) await client.query(statement);
    await client.query("commit");
  } catch (error) {
    await client.query("rollback").catch(() => undefined);
    throw error;
  } finally {
    client.release();
  }
}

/** Tables without row-level security say which migrations have run: they are read alone. */
const grantStatements = `with own as (
    select c.oid, c.relkind, c.relrowsecurity, format('%I.%I', n.nspname, c.relname) as name
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = $1 and c.relkind in ('r', 'p', 'S') and not c.relispartition and pg_has_role(c.relowner, 'usage')
  ), ensure as (
    select format('function %I.ensure_days(text, integer, date)', $1::text) as name
  )
  select format('grant usage on schema %I to %I', $1::text, $2::text) as statement
  union all select format('grant %s on %s to %I', case when relrowsecurity then 'select, insert, update, delete' else 'select' end,
    name, $2::text) from own where relkind <> 'S'
  union all select format('grant usage on sequence %s to %I', name, $2::text) from own where relkind = 'S'
  union all select format('alter policy %I on %s to %s', p.polname, own.name, (select string_agg(quote_ident(r.name), ', ')
    from (select rolname::text as name from pg_roles where oid = any(p.polroles) union select $2::text) r))
    from own join pg_policy p on p.polrelid = own.oid where p.polname = 'upkeep'
  union all select format('alter %s security definer set search_path = pg_catalog, pg_temp', name) from ensure
  union all select format('revoke execute on %s from public', name) from ensure
  union all select format('grant execute on %s to %I', name, $2::text) from ensure`;

async function readVersions({ pool }: Database): Promise<readonly Omit<Part, "applied">[]> {
  const { rows: schemas } = await pool.query<{ schema: string }>(
    `select n.nspname::text as schema from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relname = 'stratagraph_migrations' and c.relkind = 'r' order by 1`,
  );
  const versions: Omit<Part, "applied">[] = [];
  for (const { schema } of schemas) {
    const { rows } = await pool.query<{ name: string; version: number }>(
      `select name, max(number) as version from ${quoteIdentifier(schema)}.stratagraph_migrations group by name order by name`,
    );
    versions.push(...rows.map((row) => ({ schema, ...row })));
  }
  return versions;
}

function partLines(parts: readonly Part[], io: CliIo): readonly string[] {
  const view = outputLayout(io);
  const columns = [
    { title: "schema" },
    { title: "part" },
    { title: "version", align: "right" },
    { title: "applied", align: "right" },
  ] as const;
  const rows = parts.map(({ schema, name, version, applied }) => [
    { text: plainLine(schema) },
    { text: plainLine(name) },
    { text: String(version) },
    { text: applied === 0 ? "" : `+${applied}` },
  ]);
  const applied = parts.reduce((sum, part) => sum + part.applied, 0);
  const said =
    applied === 0
      ? "The tables are up to date."
      : `Ran ${applied} migration${applied === 1 ? "" : "s"}.`;
  return [...tableLines(columns, rows, view), "", said];
}
