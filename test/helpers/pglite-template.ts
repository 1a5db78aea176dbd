import { cpSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const modules = fileURLToPath(new URL("../../node_modules", import.meta.url));

/** A new temporary folder with an empty embedded database. The caller removes it. */
export async function newDatabaseFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "stratagraph-"));
  await copyDatabase(join(folder, "database"));
  return folder;
}

/**
 * Puts the files of an empty PGlite into a folder that is not there. They are a copy of one made once for each version of
 * PGlite, since making one takes seconds.
 */
export async function copyDatabase(folder: string): Promise<void> {
  const { version } = JSON.parse(
    await readFile(join(modules, "@electric-sql/pglite/package.json"), "utf8"),
  ) as { version: string };
  const template = join(modules, ".cache", `stratagraph-pglite-files-${version}`);
  try {
    cpSync(template, folder, { recursive: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    await makeTemplate(template);
    cpSync(template, folder, { recursive: true });
  }
}

/** Moved to its place when complete, so that test files at work side by side never see half of it. */
async function makeTemplate(template: string): Promise<void> {
  await mkdir(join(modules, ".cache"), { recursive: true });
  const draft = await mkdtemp(`${template}-draft-`);
  const { PGlite } = await import("@electric-sql/pglite");
  const database = await PGlite.create({ dataDir: join(draft, "database") });
  await database.close();
  try {
    await rename(join(draft, "database"), template);
  } catch {
    // Another test file was first.
  }
  await rm(draft, { recursive: true });
}
