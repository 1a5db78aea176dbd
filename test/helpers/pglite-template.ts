import { cp, mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { openDatabase } from "../../src/storage/database.ts";

const modules = fileURLToPath(new URL("../../node_modules", import.meta.url));

/**
 * A new temporary folder with an empty embedded database. It is a copy of one made once for each version of PGlite,
 * since making one takes seconds. The caller removes it.
 */
export async function newDatabaseFolder(): Promise<string> {
  const { version } = JSON.parse(
    await readFile(join(modules, "@electric-sql/pglite/package.json"), "utf8"),
  ) as { version: string };
  const template = join(modules, ".cache", `stratagraph-pglite-${version}`);
  const folder = await mkdtemp(join(tmpdir(), "stratagraph-"));
  try {
    await cp(template, folder, { recursive: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    await makeTemplate(template);
    await cp(template, folder, { recursive: true });
  }
  return folder;
}

/** Moved to its place when complete, so that test files at work side by side never see half of it. */
async function makeTemplate(template: string): Promise<void> {
  await mkdir(join(modules, ".cache"), { recursive: true });
  const draft = await mkdtemp(`${template}-draft-`);
  const database = await openDatabase({ folder: draft });
  await database.pool.query("select 1");
  await database.close();
  try {
    await rename(draft, template);
  } catch {
    await rm(draft, { recursive: true }); // Another test file was first.
  }
}
