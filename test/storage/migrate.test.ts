import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { loadMigrations, MigrationFilesError } from "../../src/storage/migrate.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const urlOf = (files: Record<string, string>) => pathToFileURL(tempFolder(files));

test("reads numbered SQL files in order, and leaves other files alone", async () => {
  const folder = urlOf({
    "002-add a #column.sql": "select 2;",
    "001-tables.sql": "select 1;",
    "README.md": "",
  });
  const migrations = [
    { number: 1, sql: "select 1;" },
    { number: 2, sql: "select 2;" },
  ];
  expect(await loadMigrations(folder)).toEqual(migrations);
  expect(await loadMigrations(new URL(`${folder.href}/`))).toEqual(migrations);
});

test.each([
  ["a gap", ["001-a.sql", "003-c.sql"]],
  ["a missing first", ["002-b.sql"]],
  ["a number twice", ["001-a.sql", "001-b.sql"]],
  ["a file without a number", ["001-a.sql", "more.sql"]],
  ["no file", []],
])("refuses a folder with %s", async (_, files) => {
  const folder = urlOf(Object.fromEntries(files.map((file) => [file, "select 1;"])));
  const loading = loadMigrations(folder);
  await expect(loading).rejects.toThrow(MigrationFilesError);
  await expect(loading).rejects.toMatchObject({ code: "migration_files", files });
});
