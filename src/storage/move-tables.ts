import { StratagraphError } from "../errors.ts";
import { beginMigrating, loadMigrations, migrate } from "./migrate.ts";
import { type DatabasePool, type Queryable, quoteIdentifier } from "./pool.ts";
import { openTenantPool } from "./tenant.ts";

/** What the migrations of one name have made. */
interface TableSet {
  /** The table by which the set is known: only the migrations make it. */
  readonly own: string;
  /** Others; those that are not there yet are passed over. */
  readonly tables: readonly string[];
  readonly sequences?: readonly string[];
  /** With their argument types. */
  readonly functions?: readonly string[];
}

/** Those of LangGraph's own Postgres saver, which the checkpointer takes over. */
const stockTables = [
  "checkpoints",
  "checkpoint_blobs",
  "checkpoint_writes",
  "checkpoint_migrations",
] as const;

const tableSets = {
  checkpoints: {
    own: "checkpoint_elements",
    tables: [
      ...stockTables,
      "checkpoint_log_uses",
      "checkpoint_write_sets",
      "checkpoint_definitions",
      "checkpoint_threads",
      "attachments",
      "attachment_uses",
    ],
    sequences: ["checkpoint_log_ids"],
    functions: [
      "checkpoint_bytes(jsonb)",
      "checkpoint_label(jsonb,text)",
      "checkpoints_changed()",
      "checkpoints_truncated()",
    ],
  },
  tool_journal: { own: "tool_journal", tables: [] },
  experiment_memory: { own: "experiment_memory", tables: ["experiment_memory_changes"] },
} satisfies Readonly<Record<string, TableSet>>;

/** The migrations whose tables can be moved. */
export type TableSetName = keyof typeof tableSets;

const names = Object.keys(tableSets) as TableSetName[];

/** The schema of a runtime's tables, and that of versions before it had one of its own. */
const defaultSchema = "stratagraph";
const formerSchema = "public";

/** The target schema has tables of the same names already. Nothing was moved. */
export class TablesExistError extends StratagraphError {
  readonly code = "tables_exist";

  constructor(
    readonly schema: string,
    readonly table: string,
  ) {
    super(
      `Expected no table ${table} in schema ${JSON.stringify(schema)}, but there is one, so that the tables cannot be moved there. ` +
        "Nothing was moved. Move them into another schema, or drop those that are there if they are not needed.",
    );
  }
}

export interface MoveTablesOptions {
  /** The schema that has the tables. */
  readonly from: string;
  /** The schema to move them to, made if need be. */
  readonly to: string;
  /** Whether tables of LangGraph's own saver are moved too where no checkpointer of this package has used them. Default false. */
  readonly includeStock?: boolean;
  /** Whether the transaction is rolled back at its end, so that nothing is moved. Default false. */
  readonly isDryRun?: boolean;
}

/**
 * Moves the tables of threads, tool calls and experiment memory into another schema, with all that belongs to them and
 * without writing them anew: all in one transaction, under the lock of migrations. What is not there is passed over.
 * The first use migrates them afterwards. Other versions must not run meanwhile.
 *
 * @returns the tables that were moved, or that a dry run found to move, in alphabetical order
 * @throws {TablesExistError} if one of them is in the target schema
 * @throws {InvalidIdentifierError} for a schema that Postgres cannot have
 */
export async function moveTables(
  pool: Pick<DatabasePool, "connect">,
  { from, to, includeStock = false, isDryRun = false }: MoveTablesOptions,
): Promise<readonly string[]> {
  quoteIdentifier(from);
  const client = await pool.connect();
  try {
    await beginMigrating(client, to);
    const moved: string[] = [];
    for (const name of names) moved.push(...(await moveSet(client, { name, from, to })));
    if (includeStock && moved[0] === undefined) moved.push(...(await moveStock(client, from, to)));
    await client.query(isDryRun ? "rollback" : "commit");
    return moved.toSorted();
  } catch (error) {
    await client.query("rollback").catch(() => undefined);
    throw error;
  } finally {
    client.release();
  }
}

export interface TableSetOptions {
  readonly name: TableSetName;
  /** Made if need be. Any name: it is escaped. Into `stratagraph` tables are adopted from `public`. */
  readonly schema: string;
  /** The folder of the migrations. */
  readonly migrations: URL;
  /** See `migrate`. */
  readonly before?: (client: Queryable) => Promise<void>;
}

/** Sets of tables that were made or found through a pool: to the role of tenants, by name and schema. */
const openedSets = new WeakMap<DatabasePool, Map<string, Promise<string | null>>>();

/**
 * Returns a function that makes the tables, unless they are there, and resolves to the role of tenants on them (see
 * {@link openTenantPool}). It does so once for a pool; after an error the next call tries again.
 *
 * It throws {@link NewerDatabaseError} and {@link TenantIsolationError}.
 */
export function tableSetOpener(
  pool: DatabasePool,
  { name, schema, migrations, before }: TableSetOptions,
): () => Promise<string | null> {
  const open = async () => {
    const adopt = (client: Queryable) => moveSet(client, { name, from: formerSchema, to: schema });
    await migrate(pool, {
      schema,
      name,
      migrations: await loadMigrations(migrations),
      ...(schema === defaultSchema && { adopt }),
      ...(before && { before }),
    });
    const { own, tables, sequences = [], functions = [] }: TableSet = tableSets[name];
    const granted = [own, ...tables].filter((table) => table !== "checkpoint_migrations");
    const options = { schema, tables: granted, sequences, functions };
    return (await openTenantPool(pool, options)).role;
  };
  const opened = openedSets.get(pool) ?? new Map<string, Promise<string | null>>();
  openedSets.set(pool, opened);
  const key = JSON.stringify([name, schema]);
  return () => {
    const known = opened.get(key);
    if (known !== undefined) return known;
    const opening = open().catch((error: unknown) => {
      opened.delete(key);
      throw error;
    });
    opened.set(key, opening);
    return opening;
  };
}

/** Returns the tables that were moved. */
async function moveSet(
  client: Queryable,
  { name, from, to }: { readonly name: TableSetName; readonly from: string; readonly to: string },
): Promise<readonly string[]> {
  const set: TableSet = tableSets[name];
  if ((await tablesIn(client, from, [set.own, "stratagraph_migrations"])).length < 2) return [];
  const [source, target] = [quoteIdentifier(from), quoteIdentifier(to)];
  const rows = `${source}.stratagraph_migrations where name = $1`;
  const { rowCount: applied } = await client.query(`select from ${rows}`, [name]);
  if (applied === 0) return []; // Another's table of that name.
  const moved = await moveAll(client, from, to, [set.own, ...set.tables]);
  for (const sequence of set.sequences ?? [])
    await client.query(
      `alter sequence ${source}.${quoteIdentifier(sequence)} set schema ${target}`,
    );
  for (const signature of set.functions ?? []) {
    const { rows: found } = await client.query<{ hasPath: boolean }>(
      `select proconfig is not null as "hasPath" from pg_proc where oid = to_regprocedure($1)`,
      [`${source}.${signature}`],
    );
    if (found[0] === undefined) continue;
    await client.query(`alter function ${source}.${signature} set schema ${target}`);
    if (found[0].hasPath)
      await client.query(
        `alter function ${target}.${signature} set search_path = ${target}, pg_temp`,
      );
  }
  await client.query(`insert into ${target}.stratagraph_migrations select * from ${rows}`, [name]);
  await client.query(`delete from ${rows}`, [name]);
  return moved;
}

async function moveStock(client: Queryable, from: string, to: string): Promise<readonly string[]> {
  const found = await tablesIn(client, from, [...stockTables]);
  if (!found.includes("checkpoints")) return [];
  return moveAll(client, from, to, found);
}

/** @throws {TablesExistError} */
async function moveAll(
  client: Queryable,
  from: string,
  to: string,
  tables: readonly string[],
): Promise<readonly string[]> {
  const [taken] = await tablesIn(client, to, tables);
  if (taken !== undefined) throw new TablesExistError(to, taken);
  const found = await tablesIn(client, from, tables);
  for (const table of found) {
    const quoted = `${quoteIdentifier(from)}.${quoteIdentifier(table)}`;
    await client.query(`alter table ${quoted} set schema ${quoteIdentifier(to)}`);
  }
  return found;
}

/** Returns those of the tables that are in a schema. Not by `to_regclass`, which fails without the right to use it. */
async function tablesIn(
  client: Queryable,
  schema: string,
  tables: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = $1 and c.relname = any($2::text[]) and c.relkind in ('r', 'p') order by 1`,
    [schema, tables],
  );
  return rows.map(({ name }) => name);
}
