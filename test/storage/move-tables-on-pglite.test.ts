import { rm } from "node:fs/promises";
import { afterAll } from "vitest";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { moveTablesContract } from "../contract/move-tables.ts";
import { newDatabaseFolder } from "../helpers/pglite-template.ts";

const opened: { readonly database: Database; readonly folder: string }[] = [];

moveTablesContract({
  kind: "pglite",
  available: true,
  create: async () => {
    const folder = await newDatabaseFolder();
    const database = await openDatabase({ folder });
    opened.push({ database, folder });
    // A copy with tables takes a fraction of the time of a new database.
    await database.pool.query("drop schema stratagraph cascade");
    await database.pool.query("drop schema public cascade");
    await database.pool.query("create schema public");
    return { database, again: async () => database };
  },
});

afterAll(() =>
  Promise.all(
    opened.map(async ({ database, folder }) => {
      await database.close();
      await rm(folder, { recursive: true, force: true });
    }),
  ),
);
