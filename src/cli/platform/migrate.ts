import type { Database } from "../../storage/database.ts";
import { quoteIdentifier } from "../../storage/pool.ts";
import type { CliIo } from "../io.ts";
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

/** `stratagraph migrate`: brings the tables of all parts up to date. */
export async function migrateCommand(
  given: { readonly json?: boolean },
  io: CliIo,
): Promise<number> {
  const parts = await withDatabase(io, async (database) => {
    const before = await readVersions(database);
    await migrateAll(database);
    return (await readVersions(database)).map((part) => {
      const same = before.find(({ schema, name }) => schema === part.schema && name === part.name);
      return { ...part, applied: part.version - (same?.version ?? 0) };
    });
  });
  if (given.json) printJson({ parts }, io);
  else printLines(partLines(parts, io), io);
  return exitCodes.done;
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
  const checkpointer = await openCheckpointer(database);
  await checkpointer.setup();
  await new DatabaseToolJournal(database.pool, { serde: checkpointer.serde }).setup();
  await openDatabaseMemory(database).setup();
  await new DatabaseExperimentMemory(database.pool).setup();
  await openPlatform(database);
}

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
