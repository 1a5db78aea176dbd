import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { openDatabase, type Database } from "../../src/storage/database.ts";
import { DatabaseClosedError } from "../../src/storage/errors.ts";
import { runAlone } from "../../src/storage/transaction.ts";
import type { TestDatabase } from "../helpers/databases.ts";

/** What a database does, whichever it is. */
export function databaseContract(database: TestDatabase): void {
  describe.skipIf(!database.available)(`a ${database.kind} database`, () => {
    let pool: Database["pool"];
    beforeAll(async () => {
      pool = database.shared.pool;
      await pool.query("create table notes (id integer primary key, text text)");
    });

    test("says which kind it is", () => {
      expect(database.shared.kind).toBe(database.kind);
    });

    test("reads values the way node-postgres does", async () => {
      const { rows, rowCount, command } = await pool.query(
        `select 1::int as "int", 2::bigint as "big", 1.50::numeric as "numeric", 0.5::float8 as "float", true as "bool",
          'text' as "text", '{"a":[1]}'::jsonb as "json", '\\x0001ff'::bytea as "bytes", array[1,2]::bigint[] as "bigs",
          array['\\x00'::bytea, null] as "byteses", '2020-01-02 03:04:05.678+00'::timestamptz as "at", null as "nothing"`,
      );
      expect({ rowCount, command }).toEqual({ rowCount: 1, command: "SELECT" });
      expect(rows).toEqual([
        {
          int: 1,
          big: "2",
          numeric: "1.50",
          float: 0.5,
          bool: true,
          text: "text",
          json: { a: [1] },
          bytes: Buffer.from([0, 1, 255]),
          bigs: ["1", "2"],
          byteses: [Buffer.from([0]), null],
          at: new Date("2020-01-02T03:04:05.678Z"),
          nothing: null,
        },
      ]);
    });

    test("writes values the way node-postgres does", async () => {
      const values = [
        undefined,
        { a: 1 },
        { b: 2 },
        Buffer.from("bytes").subarray(1),
        ["x", null, 'y"'],
        new Date(0),
        9n,
        false,
      ];
      const { rows } = await pool.query(
        "select $1::text as a, $2::text as b, $3::jsonb as c, $4::bytea as d, $5::text[] as e, $6::timestamptz as f, $7::bigint as g, $8::bool as h",
        values,
      );
      expect(rows).toEqual([
        {
          a: null,
          b: '{"a":1}',
          c: { b: 2 },
          d: Buffer.from("ytes"),
          e: ["x", null, 'y"'],
          f: new Date(0),
          g: "9",
          h: false,
        },
      ]);
    });

    test("takes a statement as text, as text with values, and as an object", async () => {
      const one = [{ one: 1 }];
      expect((await pool.query("select 1 as one")).rows).toEqual(one);
      expect((await pool.query("select $1::int as one", [1])).rows).toEqual(one);
      expect((await pool.query({ text: "select $1::int as one", values: [1] })).rows).toEqual(one);
      expect((await pool.query({ text: "select 1 as one" })).rows).toEqual(one);
    });

    test("takes a statement with a name again and again", async () => {
      const client = await pool.connect();
      const query = { name: "add", text: "select $1::int + 1 as sum" };
      expect((await client.query(query, [1])).rows).toEqual([{ sum: 2 }]);
      expect((await client.query({ ...query, values: [2] })).rows).toEqual([{ sum: 3 }]);
      await expect(client.query(query, ["no number"])).rejects.toMatchObject({ code: "22P02" });
      expect((await client.query(query, [3])).rows).toEqual([{ sum: 4 }]);
      client.release();
    });

    test("prepares a statement with a name once a session, and keeps it over changes of its table", async () => {
      const client = await pool.connect();
      const query = { name: "count-notes", text: "select count(*)::int from notes where id < $1" };
      await client.query(query, [0]);
      await client.query("create index on notes (id)");
      await client.query("begin");
      await expect(client.query("select $1::nonsense", [1])).rejects.toMatchObject({
        code: "42704",
      });
      await client.query("rollback");
      expect((await client.query(query, [0])).rows).toEqual([{ count: 0 }]);
      const prepared = "select name from pg_prepared_statements where statement = $1";
      expect((await client.query(prepared, [query.text])).rows).toEqual([{ name: query.name }]);
      client.release();
    });

    test("prepares a statement without a name when it is sent again", async () => {
      const client = await pool.connect();
      const text = "select id from notes where id > $1";
      const names = async () => {
        await client.query(text, [1]);
        const prepared = "select name from pg_prepared_statements where statement = $1";
        return (await client.query(prepared, [text])).rows;
      };
      expect(await names()).toEqual([]);
      const again = await names();
      expect(again).toEqual([{ name: expect.stringMatching(/^repeated-[\da-f]{40}$/) }]);
      expect(await names()).toEqual(again);
      client.release();
    });

    test("runs a statement that was prepared before its table got columns", async () => {
      const client = await pool.connect();
      onTestFinished(() => client.release());
      await client.query("create table changing as select 1 as a");
      const text = "select * from changing where a = $1";
      const rows = async () => (await client.query(text, [1])).rows;
      await rows();
      expect(await rows()).toEqual([{ a: 1 }]);
      await client.query("alter table changing add column b int default 2");
      expect(await rows()).toEqual([{ a: 1, b: 2 }]);
      await client.query("alter table changing add column c int default 3");
      await client.query("begin");
      await expect(rows()).rejects.toMatchObject({ code: "0A000" });
      await client.query("rollback");
      expect(await rows()).toEqual([{ a: 1, b: 2, c: 3 }]);
      await client.query("alter table changing drop column b");
      const alone = await runAlone(client, { text: "begin" }, { text, values: [1] });
      expect(alone.rows).toEqual([{ a: 1, c: 3 }]);
    });

    test("gives the last result of several statements, and counts changed rows", async () => {
      expect((await pool.query("select 1 as a; select 2 as b")).rows).toEqual([{ b: 2 }]);
      const inserted = await pool.query(
        "insert into notes (id, text) values ($1, 'a'), ($2, 'b')",
        [1, 2],
      );
      expect(inserted).toMatchObject({ rowCount: 2, command: "INSERT", rows: [] });
      expect((await pool.query("create index on notes (text)")).rowCount).toBeNull();
    });

    test("goes on after a statement that failed, alone and inside a transaction", async () => {
      await expect(pool.query("select nonsense")).rejects.toMatchObject({ code: "42703" });
      await expect(pool.query("select $1::int", ["no number"])).rejects.toMatchObject({
        code: "22P02",
      });
      const client = await pool.connect();
      await client.query("begin");
      await expect(client.query("select nonsense")).rejects.toMatchObject({ code: "42703" });
      await expect(client.query("select 1")).rejects.toMatchObject({ code: "25P02" });
      await client.query("rollback");
      expect((await client.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
      client.release();
    });

    test("keeps the values of a statement out of its error", async () => {
      const error: unknown = await pool
        .query("select $1::int", ["hunter2 is secret"])
        .catch((thrown: unknown) => thrown);
      expect(Object.keys(error as object)).not.toContain("params");
    });

    test.each(["insert into notes (id) values (10)", "select nonsense"])(
      "rolls back the transaction that a released client left open after %j",
      async (statement) => {
        const client = await pool.connect();
        await client.query("begin");
        await client.query(statement).catch(() => undefined);
        client.release();

        expect((await pool.query("select id from notes where id = 10")).rows).toEqual([]);
      },
    );

    test("does not mix the transactions of two clients", async () => {
      const insert = async (id: number) => {
        const client = await pool.connect();
        await client.query("begin");
        await client.query("insert into notes (id) values ($1)", [id]);
        await client.query(id % 2 === 0 ? "commit" : "rollback");
        client.release();
      };
      await Promise.all([20, 21, 22, 23].map(insert));
      expect(
        (await pool.query("select id from notes where id between 20 and 23 order by id")).rows,
      ).toEqual([{ id: 20 }, { id: 22 }]);
    });

    test("refuses a client that was released", async () => {
      const client = await pool.connect();
      client.release();
      await expect(client.query("select 1")).rejects.toThrow(DatabaseClosedError);
      expect(() => client.release()).toThrow(DatabaseClosedError);
    });

    test("keeps what was written when it is closed and opened again", async () => {
      const id = 40;
      const first = await database.open();
      await first.pool.query("insert into notes (id, text) values ($1, 'kept')", [id]);
      await first.close();
      const second = await database.open();
      expect((await second.pool.query("select text from notes where id = $1", [id])).rows).toEqual([
        { text: "kept" },
      ]);
    });

    test("closes once, after the work in hand, and then refuses queries", async () => {
      const other = await openDatabase(database.options);
      const client = await other.pool.connect();
      const closing = [other.close(), other.close()];
      expect((await client.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
      client.release();
      await Promise.all(closing);
      await expect(other.pool.query("select 1")).rejects.toThrow(DatabaseClosedError);
      await expect(other.pool.connect()).rejects.toThrow(DatabaseClosedError);
    });

    test("lets many queries in at once", async () => {
      const token = randomUUID();
      const results = await Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          pool.query("select $1::text || $2::int as x", [token, i]),
        ),
      );
      expect(results.map((result) => result.rows[0])).toEqual(
        results.map((_, i) => ({ x: `${token}${i}` })),
      );
    });
  });
}
