import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openDatabase, type Database, type DatabaseOptions } from "../../src/storage/database.ts";
import { DatabaseBusyError } from "../../src/storage/errors.ts";
import { FolderLockedError } from "../../src/storage/folder-lock.ts";
import { useChildren } from "../helpers/child-process.ts";
import { newDatabaseFolder } from "../helpers/pglite-template.ts";

let folder: string;
const opened: Database[] = [];
const start = useChildren();

beforeEach(async () => {
  folder = await newDatabaseFolder();
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((database) => database.close()));
  await rm(folder, { recursive: true, force: true });
});

async function open(options?: DatabaseOptions): Promise<Database> {
  const database = await openDatabase({ folder, ...options });
  opened.push(database);
  return database;
}

test("touches the folder on the first query", async () => {
  const lockFile = join(folder, "lock");
  const database = await open();
  expect(existsSync(lockFile)).toBe(false);
  await database.pool.query("select 1");
  expect(existsSync(lockFile)).toBe(true);
  await database.close();
  expect(existsSync(lockFile)).toBe(false);
});

test("shares one PGlite among those who open the folder, until the last closes", async () => {
  const [first, second] = [await open(), await open({ folder: `${folder}/.` })];
  await first.pool.query("create table t (id integer)");
  await second.pool.query("insert into t values (1)");
  await first.close();
  await first.close();
  expect((await second.pool.query("select id from t")).rows).toEqual([{ id: 1 }]);
  const closing = second.close();
  const third = await open();
  expect((await third.pool.query("select id from t")).rows).toEqual([{ id: 1 }]);
  await closing;
});

test("serves many users in one process, each with a database of its own and a transaction", async () => {
  const users = await Promise.all(Array.from({ length: 20 }, () => open()));
  await users[0]!.pool.query("create table sums (total integer); insert into sums values (0)");
  const addOne = async ({ pool }: Database) => {
    const client = await pool.connect();
    await client.query("begin");
    const { rows } = await client.query<{ total: number }>("select total from sums");
    await client.query("update sums set total = $1", [rows[0]!.total + 1]);
    await client.query("commit");
    client.release();
  };
  await Promise.all(users.map(addOne));
  expect((await users[0]!.pool.query("select total from sums")).rows).toEqual([{ total: 20 }]);
});

test("leaves the folder alone when asked for memory", async () => {
  const database = await open({ inMemory: true });
  expect((await database.pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  expect(existsSync(join(folder, "lock"))).toBe(false);
});

test("fails a query that waits for a client its own code holds", async () => {
  const database = await open({ connectTimeoutMs: 50 });
  const client = await database.pool.connect();
  await expect(database.pool.query("select 1")).rejects.toThrow(DatabaseBusyError);
  client.release();
  expect((await database.pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
});

test("keeps a second process out until the first has closed", async () => {
  const owner = start("test/storage/programs/hold-folder.ts", folder);
  expect(await owner.nextLine()).toBe("open");
  const database = await open();
  await expect(database.pool.query("select 1")).rejects.toMatchObject({
    code: "folder_locked",
    pid: owner.pid,
  });
  await expect(database.pool.connect()).rejects.toThrow(FolderLockedError);
  owner.end();
  expect(await owner.nextLine()).toBe("closed");
  expect((await database.pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
});

test("keeps another thread out", async () => {
  const database = await open();
  await database.pool.query("select 1");
  const source = new URL("../../src/storage/database.ts", import.meta.url).href;
  const worker = new Worker(
    `import("tsx/esm/api").then(async ({ register }) => {
      register();
      const { openDatabase } = await import(${JSON.stringify(source)});
      const database = await openDatabase({ folder: ${JSON.stringify(folder)} });
      const outcome = await database.pool.query("select 1").catch((error) => error.message);
      require("node:worker_threads").parentPort.postMessage(outcome);
    });`,
    { eval: true },
  );
  const outcome = await new Promise((resolve, reject) =>
    worker.once("message", resolve).once("error", reject),
  );
  await worker.terminate();
  expect(outcome).toContain(`thread 0 of this process (${process.pid})`);
});

test("has every acknowledged row after kill -9 amid writes", async () => {
  const writer = start("test/storage/programs/write-rows.ts", folder);
  let acknowledged = 0;
  while (acknowledged < 60) acknowledged = Number(await writer.nextLine());
  await writer.kill();

  const database = await open();
  const { rows } = await database.pool.query<{ id: number; sound: boolean }>(
    "select id, bytes = decode(repeat(lpad(to_hex(id), 2, '0'), 5000), 'hex') as sound from rows order by id",
  );
  expect(rows.length).toBeGreaterThanOrEqual(acknowledged);
  expect(rows).toEqual(rows.map((_, i) => ({ id: i + 1, sound: true })));
});
