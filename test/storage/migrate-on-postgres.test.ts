import { randomBytes } from "node:crypto";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openDatabase } from "../../src/storage/database.ts";
import { DatabasePermissionError } from "../../src/storage/errors.ts";
import { migrate, type Migration } from "../../src/storage/migrate.ts";
import { migrateContract } from "../contract/migrate-contract.ts";
import { useChildren } from "../helpers/child-process.ts";
import { useDatabase } from "../helpers/databases.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const database = useDatabase("postgres");
const start = useChildren();

migrateContract(database);

describe.skipIf(!database.available)("migrations on a Postgres server", () => {
  const role = `stratagraph_test_${randomBytes(6).toString("hex")}`;
  const migrations: Migration[] = [{ number: 1, sql: "create table {schema}.notes (text text)" }];

  beforeAll(async () => {
    await database.shared.pool.query(`create role ${role} login`);
  });
  afterAll(async () => {
    await database.shared.pool.query(`drop owned by ${role}; drop role ${role}`);
  });

  /** Migrates as a role that may not create anything. */
  async function migrateAsGuest(schema: string, known: Migration[], session = ""): Promise<void> {
    const url = new URL(database.options.url!);
    url.username = role;
    url.searchParams.set("options", session);
    const guest = await openDatabase({ ...database.options, url: url.toString() });
    try {
      await migrate(guest.pool, { schema, name: "notes", migrations: known });
    } finally {
      await guest.close();
    }
  }

  test("run once when 20 processes run them at the same time", { timeout: 120_000 }, async () => {
    const folder = tempFolder({
      "001-make.sql": "create table {schema}.entries (id integer);",
      "002-fill.sql": "insert into {schema}.entries values (1);",
      "003-fill.sql": "insert into {schema}.entries values (2);",
    });
    const { url } = database.options;
    const racers = Array.from({ length: 20 }, () =>
      start("test/storage/programs/migrate.ts", url!, pathToFileURL(folder).href, "race"),
    );
    await Promise.all(racers.map((racer) => racer.nextLine()));
    for (const racer of racers) racer.send("go");
    expect(new Set(await Promise.all(racers.map((racer) => racer.nextLine())))).toEqual(
      new Set(["migrated"]),
    );
    const { rows } = await database.shared.pool.query("select id from race.entries");
    expect(rows).toEqual([{ id: 1 }, { id: 2 }]);
  });

  test("ask for no more than reading where nothing is to be done", async () => {
    const { pool } = database.shared;
    await migrate(pool, { schema: "ready", name: "notes", migrations });
    await pool.query(
      `grant usage on schema ready to ${role}; grant select on all tables in schema ready to ${role}`,
    );
    await migrateAsGuest("ready", migrations);
    await migrateAsGuest("ready", migrations, "-c default_transaction_read_only=on");
    const { rows } = await pool.query("select number from ready.stratagraph_migrations");
    expect(rows).toEqual([{ number: 1 }]);
  });

  test("need no right to make schemas where the schema is there", async () => {
    await database.shared.pool.query(
      `create schema given; grant create, usage on schema given to ${role}`,
    );
    await migrateAsGuest("given", migrations);
    const { rows } = await database.shared.pool.query(
      "select number from given.stratagraph_migrations",
    );
    expect(rows).toEqual([{ number: 1 }]);
  });

  test("say what the role may not do", async () => {
    await expect(migrateAsGuest("denied", migrations)).rejects.toThrow(DatabasePermissionError);
  });

  test("wait for one another longer than a statement may take", async () => {
    const { pool } = database.shared;
    const slow = {
      number: 1,
      sql: "select pg_sleep(1.2); create table {schema}.slow (id integer)",
    };
    const impatient = await openDatabase({ ...database.options, statementTimeoutMs: 1_000 });
    const options = { schema: "waiting", name: "slow", migrations: [slow] };
    await Promise.all([migrate(impatient.pool, options), migrate(impatient.pool, options)]);
    await impatient.close();
    expect((await pool.query("select id from waiting.slow")).rows).toEqual([]);
  });

  test("see what ran while they waited, whatever isolation is the default", async () => {
    const url = new URL(database.options.url!);
    url.searchParams.set("options", "-c default_transaction_isolation=serializable");
    const strict = await openDatabase({ ...database.options, url: url.toString() });
    const options = { schema: "strict", name: "notes", migrations };
    await Promise.all([migrate(strict.pool, options), migrate(strict.pool, options)]);
    const { rows } = await strict.pool.query("select number from strict.stratagraph_migrations");
    await strict.close();
    expect(rows).toEqual([{ number: 1 }]);
  });
});
