import { beforeEach, describe, expect, test } from "vitest";
import { migrate, NewerDatabaseError, type Migration } from "../../src/storage/migrate.ts";
import { type Queryable, quoteIdentifier } from "../../src/storage/pool.ts";
import type { TestDatabase } from "../helpers/databases.ts";

const makeNotes: Migration = {
  number: 1,
  sql: "create table {schema}.notes (text text); insert into {schema}.notes values ('first');",
};
const addColumn: Migration = {
  number: 2,
  sql: "alter table {schema}.notes add column stars integer; insert into {schema}.notes values ('second', 2);",
};

/** What migrations do, on every database. */
export function migrateContract(database: TestDatabase): void {
  describe.skipIf(!database.available)(`migrations on ${database.kind}`, () => {
    let schema: string;
    let schemas = 0;
    beforeEach(() => {
      schema = `odd "name" $& {schema} ${(schemas += 1)}`;
    });

    const run = (migrations: Migration[], before?: (client: Queryable) => Promise<void>) =>
      migrate(database.shared.pool, { schema, name: "notes", migrations, before });
    const read = async (table: string, columns = "*") => {
      const { rows } = await database.shared.pool.query(
        `select ${columns} from ${quoteIdentifier(schema)}.${table}`,
      );
      return rows;
    };

    test("run once, in order, in a schema of any name", async () => {
      await run([makeNotes]);
      await run([makeNotes]);
      expect(await read("notes")).toEqual([{ text: "first" }]);
      await run([makeNotes, addColumn]);
      await run([makeNotes, addColumn]);
      expect(await read("notes")).toEqual([
        { text: "first", stars: null },
        { text: "second", stars: 2 },
      ]);
      expect(await read("stratagraph_migrations")).toEqual([
        { name: "notes", number: 1, applied_at: expect.any(Date) },
        { name: "notes", number: 2, applied_at: expect.any(Date) },
      ]);
    });

    test("of several names share a schema", async () => {
      await run([makeNotes]);
      const other = { number: 1, sql: "create table {schema}.other (id integer)" };
      await migrate(database.shared.pool, { schema, name: "other", migrations: [other] });
      expect(await read("stratagraph_migrations", "name, number")).toEqual([
        { name: "notes", number: 1 },
        { name: "other", number: 1 },
      ]);
    });

    test("go into a schema that is there", async () => {
      await database.shared.pool.query(`create schema ${quoteIdentifier(schema)}`);
      await run([makeNotes]);
      expect(await read("notes")).toEqual([{ text: "first" }]);
    });

    test("that fail leave nothing behind, and run when they are mended", async () => {
      const broken = { number: 2, sql: `${addColumn.sql} select nonsense;` };
      await expect(run([makeNotes, broken])).rejects.toMatchObject({ code: "42703" });
      expect(await read("notes")).toEqual([{ text: "first" }]);
      await run([makeNotes, addColumn]);
      expect(await read("notes", "text")).toEqual([{ text: "first" }, { text: "second" }]);
    });

    test("refuse a database that a newer version set up, and leave it as it is", async () => {
      await run([makeNotes, addColumn]);
      await expect(run([makeNotes])).rejects.toThrow(NewerDatabaseError);
      await expect(run([makeNotes])).rejects.toMatchObject({
        code: "newer_database",
        kind: "usage",
        found: 2,
        known: 1,
      });
      expect(await read("stratagraph_migrations")).toHaveLength(2);
    });

    test("call the hook before the first that runs, whose failed statements cost nothing else", async () => {
      const before = async (client: Queryable) => {
        const table = `${quoteIdentifier(schema)}.calls`;
        await client
          .query(`select * from ${table}`)
          .catch(() => client.query(`create table ${table} (id integer)`));
        await client.query(`insert into ${table} values ($1)`, [1]);
      };
      await run([makeNotes], before);
      await run([makeNotes], before);
      expect(await read("calls")).toEqual([{ id: 1 }]);
      await run([makeNotes, addColumn], before);
      expect(await read("calls")).toEqual([{ id: 1 }, { id: 1 }]);
    });

    test("do not run when the hook fails", async () => {
      const before = async () => {
        throw new RangeError("not now");
      };
      await expect(run([makeNotes], before)).rejects.toThrow(RangeError);
      await run([makeNotes]);
      expect(await read("notes")).toEqual([{ text: "first" }]);
    });

    test("run once, hooks one at a time, when 20 callers run them at the same time", async () => {
      let [running, together] = [0, 0];
      const before = async (client: Queryable) => {
        together = Math.max(together, (running += 1));
        await client.query("select 1");
        running -= 1;
      };
      const calls = Array.from({ length: 20 }, () => run([makeNotes, addColumn], before));
      await Promise.all(calls);
      expect(await read("notes", "text")).toEqual([{ text: "first" }, { text: "second" }]);
      expect(together).toBe(1);
    });
  });
}
