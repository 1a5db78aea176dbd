import { createHash } from "node:crypto";
import { appendFileSync, cpSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Database } from "../../src/storage/database.ts";
import { dropUnusedDatabases } from "../../src/storage/empty-database.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const cache = join(root, "node_modules/.cache");

/** What PGlite has by default takes 100 MB and a tenth of a second each time that a database is opened. */
const settings = "shared_buffers = 16MB\n";

/** A new temporary folder with an embedded database whose tables are empty. The caller removes it. */
export async function newDatabaseFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "stratagraph-"));
  copyDatabase(join(folder, "database"));
  return folder;
}

/** Puts the files of an embedded database whose tables are empty into a folder that is not there. */
export function copyDatabase(folder: string): void {
  cpSync(template(), folder, { recursive: true });
}

/**
 * Makes the database that tests copy, as the package brings one: PGlite takes seconds for a new one, and tables a fraction
 * of one. It is kept for later runs until the version of PGlite or a migration is another one.
 */
export async function makeTemplate(): Promise<void> {
  if (existsSync(template())) return;
  await mkdir(cache, { recursive: true });
  const folder = await mkdtemp(join(cache, "stratagraph-pglite-draft-"));
  const [{ PGlite }, { openDatabase }] = await Promise.all([
    import("@electric-sql/pglite"),
    import("../../src/storage/database.ts"),
  ]);
  const dataDir = join(folder, "database");
  const cluster = await PGlite.create({ dataDir });
  await dropUnusedDatabases(cluster);
  await cluster.close();
  appendFileSync(join(dataDir, "postgresql.conf"), settings);
  const database = await openDatabase({ folder });
  await makeTables(database);
  await database.close();
  try {
    // Moved to its place when complete, so that test runs at work side by side never see half of it.
    await rename(dataDir, template());
  } catch {
    // Another run was first.
  }
  await rm(folder, { recursive: true });
}

/** Makes all tables in the schema that is the default. */
export async function makeTables(database: Database): Promise<void> {
  const [{ openCheckpointer }, { DatabaseToolJournal }, { openDatabaseMemory }, { openPlatform }] =
    await Promise.all([
      import("../../checkpointers/postgres.ts"),
      import("../../src/storage/tool-journal.ts"),
      import("../../src/storage/memory/database-memory.ts"),
      import("../../src/storage/platform/open-platform.ts"),
    ]);
  const checkpointer = await openCheckpointer(database);
  await checkpointer.setup();
  await new DatabaseToolJournal(database.pool, { serde: checkpointer.serde }).setup();
  await openDatabaseMemory(database).setup();
  await openPlatform(database);
}

/** Where the database that tests copy is kept. Worker processes inherit the variable: at midnight the name changes. */
function template(): string {
  return (process.env["TEST_PGLITE_TEMPLATE"] ??= join(cache, templateName()));
}

function templateName(): string {
  const hash = createHash("sha256").update(settings);
  hash.update(readFileSync(join(root, "src/storage/empty-database.ts")));
  // The platform has partitions of the next days.
  hash.update(new Date().toISOString().slice(0, 10));
  hash.update(readFileSync(join(root, "node_modules/@electric-sql/pglite/package.json")));
  for (const folder of [
    "checkpointers/migrations",
    "src/storage/migrations",
    "src/storage/memory/migrations",
    "src/storage/memory/vector-migrations",
    "src/storage/platform/migrations",
  ]) {
    for (const file of readdirSync(join(root, folder)).toSorted()) {
      hash.update(readFileSync(join(root, folder, file)));
    }
  }
  return `stratagraph-pglite-${hash.digest("hex").slice(0, 16)}`;
}
