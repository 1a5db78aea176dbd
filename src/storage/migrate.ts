import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { StratagraphError } from "../errors.ts";
import { type DatabasePool, type Queryable, quoteIdentifier } from "./pool.ts";

/** One step of a schema's making. */
export interface Migration {
  /** 1 for the first, one more for each that follows. */
  readonly number: number;
  /** Statements, `{schema}` where the quoted name of the schema goes. They run in a transaction that is not theirs to end. */
  readonly sql: string;
}

export interface MigrateOptions {
  /** Any name that Postgres can have: it is escaped. Made when it is not there. */
  readonly schema: string;
  /** Whose migrations these are; several sequences share a schema. */
  readonly name: string;
  /** In order, as {@link loadMigrations} reads them. */
  readonly migrations: readonly Migration[];
  /**
   * Runs under the lock where none of these migrations has run in the schema, which is there. It may bring tables into it
   * from elsewhere, with the rows of `stratagraph_migrations` that tell what has run on them.
   */
  readonly adopt?: (client: Queryable) => Promise<unknown>;
  /**
   * Runs before the first migration that is to run, in its transaction and so under the lock, once the schema is there;
   * it may have run before. A statement that fails undoes itself alone when the error is caught. One query at a time.
   */
  readonly before?: (client: Queryable) => Promise<void>;
}

/** The database was set up by a newer version of this package. `found` and `known` are numbers of migrations. */
export class NewerDatabaseError extends StratagraphError {
  readonly code = "newer_database";

  constructor(
    readonly migrations: string,
    readonly schema: string,
    readonly found: number,
    readonly known: number,
  ) {
    super(
      `Expected the tables of ${migrations} in schema ${JSON.stringify(schema)} at migration ${known} or before, got ${found}: ` +
        `a newer version set them up. Update the package.`,
    );
  }
}

/** Any number; the same in every process that migrates, whatever the schema. */
const MIGRATION_LOCK = 6_045_318_277;
const UNDEFINED_TABLE = "42P01";

/**
 * Runs the migrations that have not run yet, each once and in a transaction of its own, however many processes try at
 * the same time. If there is nothing to do, it reads one row and needs no other right. The lock belongs to
 * the transactions, so it holds through poolers and is never left behind; waiting for it knows no time limit,
 * nor do the migrations.
 *
 * @throws {NewerDatabaseError} when a migration has run that is not among these.
 */
export async function migrate(
  pool: Pick<DatabasePool, "connect">,
  options: MigrateOptions,
): Promise<void> {
  const table = `${quoteIdentifier(options.schema)}.stratagraph_migrations`;
  const client = await pool.connect();
  try {
    const newest = await newestBeforeLocking(client, table, options.name);
    if (pending(options, newest).length === 0) return;
    let first = true;
    while (await runNext(client, table, options, first)) first = false;
  } finally {
    client.release();
  }
}

/** Runs the next migration, if there is one. Another process may have run some since this one looked. */
async function runNext(
  client: Queryable,
  table: string,
  options: MigrateOptions,
  first: boolean,
): Promise<boolean> {
  // Under a stricter isolation what is read after waiting for the lock would be what was there before.
  await beginMigrating(client, options.schema);
  if (options.adopt && (await newestApplied(client, table, options.name)) === 0)
    await options.adopt(client);
  const [next, ...later] = pending(options, await newestApplied(client, table, options.name));
  if (next) {
    if (first) await options.before?.(withSavepoints(client));
    const schema = quoteIdentifier(options.schema);
    await client.query(next.sql.replaceAll("{schema}", () => schema)); // A plain replacement would expand `$&`.
    const row = [options.name, next.number];
    await client.query(`insert into ${table} (name, number) values ($1, $2)`, row);
  }
  await client.query("commit");
  return later.length > 0;
}

/** Begins a transaction that has all migrations of the database for itself, and makes what they need. */
export async function beginMigrating(client: Queryable, schema: string): Promise<void> {
  await client.query("begin isolation level read committed");
  await client.query("set local statement_timeout = 0");
  // Rows of all tenants, where row-level security holds for the owner of the tables.
  await client.query("set local app.upkeep = 'on'");
  await client.query("select pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
  await makeTable(client, `${quoteIdentifier(schema)}.stratagraph_migrations`, schema);
}

/** `if not exists` alone would want the right to create even where there is nothing to create. */
async function makeTable(client: Queryable, table: string, schema: string): Promise<void> {
  const { rows } = await client.query<{ schema: boolean; table: boolean }>(
    `select exists (select from pg_namespace where nspname = $1) as "schema", to_regclass($2) is not null as "table"`,
    [schema, table],
  );
  if (!rows[0]!.schema)
    await client.query(`create schema if not exists ${quoteIdentifier(schema)}`);
  if (!rows[0]!.table)
    await client.query(
      `create table ${table} (name text, number integer, applied_at timestamptz not null default now(), primary key (name, number))`,
    );
}

/** Outside any transaction, where a table that is missing costs no more than an error. */
async function newestBeforeLocking(
  client: Queryable,
  table: string,
  name: string,
): Promise<number> {
  try {
    return await newestApplied(client, table, name);
  } catch (error) {
    if ((error as { code?: unknown }).code === UNDEFINED_TABLE) return 0;
    throw error;
  }
}

async function newestApplied(client: Queryable, table: string, name: string): Promise<number> {
  const { rows } = await client.query<{ newest: number | null }>(
    `select max(number) as newest from ${table} where name = $1`,
    [name],
  );
  return rows[0]!.newest ?? 0;
}

function pending(options: MigrateOptions, newest: number): Migration[] {
  const known = options.migrations.at(-1)?.number ?? 0;
  if (newest > known) throw new NewerDatabaseError(options.name, options.schema, newest, known);
  return options.migrations.filter((migration) => migration.number > newest);
}

/** A client whose failed statements leave the transaction usable, as if they had run outside of one. */
function withSavepoints(client: Queryable): Queryable {
  return {
    async query(query, values) {
      await client.query("savepoint before_statement");
      try {
        const result = await client.query(query, values);
        await client.query("release savepoint before_statement");
        return result as never;
      } catch (error) {
        // On a session that broke this fails too; what broke it is the error to show.
        await client.query("rollback to savepoint before_statement").catch(() => undefined);
        throw error;
      }
    },
  };
}

/** A folder does not hold SQL files numbered 001, 002, 003 and so on. */
export class MigrationFilesError extends StratagraphError {
  readonly code = "migration_files";

  constructor(
    readonly folder: string,
    readonly files: readonly string[],
  ) {
    const found = files.length === 0 ? "no .sql file" : files.join(", ");
    super(
      `Expected SQL files named 001-name.sql, 002-name.sql and so on without gaps in ${folder}, got ${found}. ` +
        `Name the files so, or install the package again.`,
    );
  }
}

/**
 * Reads the files `NNN-name.sql` of a folder, in order. Files of other kinds are left alone.
 *
 * @throws {MigrationFilesError} when there is none, a number is missing or there twice, or a .sql file has no number.
 */
export async function loadMigrations(folder: URL): Promise<readonly Migration[]> {
  const base = folder.href.endsWith("/") ? folder : new URL(`${folder.href}/`);
  const files = (await readdir(base)).filter((file) => file.endsWith(".sql")).toSorted();
  const numbered = files.every(
    (file, i) => /^\d{3}-.+\.sql$/.test(file) && Number(file.slice(0, 3)) === i + 1,
  );
  if (files.length === 0 || !numbered) throw new MigrationFilesError(fileURLToPath(base), files);
  return Promise.all(
    files.map(async (file, i) => ({
      number: i + 1,
      sql: await readFile(new URL(encodeURIComponent(file), base), "utf8"),
    })),
  );
}
