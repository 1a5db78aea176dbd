import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { StratagraphError } from "../errors.ts";
import type { Migration } from "./migrate.ts";

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
