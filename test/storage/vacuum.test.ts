import { expect, it } from "vitest";
import { vacuumChanged } from "../../src/storage/database.ts";
import type { DatabasePool } from "../../src/storage/pool.ts";
import { useDatabase } from "../helpers/databases.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { useRunServers } from "../helpers/run-server.ts";

const database = useDatabase("pglite");
const start = useRunServers(database);

it("vacuums and analyzes the tables that changed much, and no others", async () => {
  const { pool } = database.shared;
  const vacuumed = async () => (await vacuumChanged(pool)).filter((name) => /Many|few/.test(name));
  for (const name of ['"Many; drop"', "few"]) {
    await pool.query(`create table ${name} (id int primary key)`);
    const rows = name === "few" ? 50 : 1000;
    await pool.query(`insert into ${name} select generate_series(1, ${rows})`);
  }
  expect(await vacuumed()).toEqual(['public."Many; drop"']);
  expect(await vacuumed()).toEqual([]);
  await pool.query(`insert into "Many; drop" select generate_series(1001, 1150)`);
  expect(await vacuumed()).toEqual([]);
  await pool.query(`insert into "Many; drop" values (0)`);
  expect(await vacuumed()).toEqual([]);
  const { rows } = await pool.query(
    `select reltuples::int as rows, relpages::int > 0 as "hasPages" from pg_class where relname = 'Many; drop'`,
  );
  expect(rows).toEqual([{ rows: 1000, hasPages: true }]);
});

it("skips tables that are dropped meanwhile, and stops between two tables", async () => {
  const { pool } = database.shared;
  await pool.query("create schema gone");
  const names = ["gone.a", "public.b", "public.c", "public.d"];
  for (const name of names)
    await pool.query(`create table ${name} as select generate_series(1, 100)`);
  const asked: unknown[] = [];
  const stopped = new AbortController();
  const dropping = {
    ...pool,
    async query(text: string) {
      if (text.startsWith("vacuum") && asked.push(text) === 1)
        await pool.query("drop schema gone cascade; drop table b");
      if (asked.length === 3) stopped.abort();
      return pool.query(text);
    },
  };
  expect(await vacuumChanged(dropping as DatabasePool, stopped.signal)).toEqual(["public.c"]);
  expect(asked).toEqual(names.slice(0, 3).map((name) => `vacuum (analyze) ${name}`));
  expect(await vacuumChanged(pool)).toEqual(["public.d"]);
});

it("is done each minute by a server on an embedded database", async () => {
  const clock = new ManualClock();
  await start([], { clock });
  const { pool } = database.shared;
  await pool.query("create table grown as select generate_series(1, 1000)");
  const rows = async () => {
    clock.advance(20_000);
    const found = await pool.query("select reltuples from pg_class where relname = 'grown'");
    return found.rows[0]!["reltuples"];
  };
  await expect.poll(rows).toBe(1_000);
});
