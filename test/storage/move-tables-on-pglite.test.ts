import { afterAll } from "vitest";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { moveTablesContract } from "../contract/move-tables.ts";

const opened: Database[] = [];

moveTablesContract({
  kind: "pglite",
  available: true,
  create: async () => {
    const database = await openDatabase({ inMemory: true });
    opened.push(database);
    return { database, again: async () => database };
  },
});

afterAll(() => Promise.all(opened.map((database) => database.close())));
