import { randomBytes } from "node:crypto";
import { afterAll } from "vitest";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { moveTablesContract } from "../contract/move-tables.ts";
import { useDatabase } from "../helpers/databases.ts";

const server = useDatabase("postgres");
const opened: Database[] = [];
const created: string[] = [];

moveTablesContract({
  kind: "postgres",
  available: server.available,
  create: async () => {
    const name = `stratagraph_test_${randomBytes(6).toString("hex")}`;
    await server.shared.pool.query(`create database ${name}`);
    created.push(name);
    const url = new URL(server.options.url!);
    url.pathname = `/${name}`;
    const again = async () => {
      const database = await openDatabase({ ...server.options, url: url.toString() });
      opened.push(database);
      return database;
    };
    return { database: await again(), again };
  },
});

afterAll(async () => {
  await Promise.all(opened.map((database) => database.close()));
  for (const name of created) await server.shared.pool.query(`drop database ${name} with (force)`);
});
