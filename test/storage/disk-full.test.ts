import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cp, mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { openDatabase } from "../../src/storage/database.ts";
import { DatabaseFullError } from "../../src/storage/errors.ts";
import type { DatabasePool } from "../../src/storage/pool.ts";
import { useDatabase } from "../helpers/databases.ts";
import { newDatabaseFolder } from "../helpers/pglite-template.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

/** Megabytes: an empty embedded database and a little more than one file of its log. */
const EMBEDDED_MB = 60;

const folder = tempFolder();
const disk = join(folder, "disk");
const mounted = await mount(disk, EMBEDDED_MB);
afterAll(() => {
  if (mounted) run("umount", "--lazy", disk);
});

function run(program: string, ...args: string[]): boolean {
  try {
    execFileSync(program, args, { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** A small disk in memory; needs root on Linux. */
async function mount(path: string, megabytes: number): Promise<boolean> {
  await mkdir(path);
  return run("mount", "-t", "tmpfs", "-o", `size=${megabytes}m,mode=777`, "tmpfs", path);
}

/** Appends rows that do not compress until one is refused, and returns how many were taken, and the refusal. */
async function fill(pool: DatabasePool, table: string): Promise<[number, unknown]> {
  for (let count = 0; ; count += 1) {
    try {
      await pool.query(`insert into ${table} values ($1)`, [randomBytes(100_000)]);
    } catch (error) {
      return [count, error];
    }
  }
}

describe.skipIf(!mounted)("a full disk", () => {
  test("is named by an embedded database, which loses nothing and goes on when there is space", async () => {
    const template = await newDatabaseFolder();
    await cp(template, disk, { recursive: true });
    await rm(template, { recursive: true });
    const database = await openDatabase({ folder: disk });
    await database.pool.query("create table entries (bytes bytea)");
    const [count, error] = await fill(database.pool, "entries");
    expect(count).toBeGreaterThan(0);
    expect(error).toBeInstanceOf(DatabaseFullError);
    expect(error).toMatchObject({ code: "database_full", kind: "run", sqlState: "53100" });

    run("mount", "-o", `remount,size=${2 * EMBEDDED_MB}m`, disk);
    await database.pool.query("insert into entries values ('last')");
    const { rows } = await database.pool.query("select count(*)::int from entries");
    await database.close();
    expect(rows).toEqual([{ count: count + 1 }]);
  });
});

const server = useDatabase("postgres");

describe.skipIf(!mounted || !server.available)("a full disk of a server", () => {
  test("is named, and the session goes on", async ({ skip }) => {
    const { pool } = server.shared;
    const space = `${new URL(server.options.url!).pathname.slice(1)}_space`;
    const path = join(folder, "server");
    await mount(path, 2);
    // The server runs as another user, perhaps on another machine.
    run("chmod", "755", folder);
    run("chown", "postgres", path);
    try {
      const made = await pool.query(`create tablespace ${space} location '${path}'`).then(
        () => true,
        () => false,
      );
      if (!made) skip("The server cannot reach a folder of this machine.");
      await pool.query(`create table entries (bytes bytea) tablespace ${space}`);
      const [count, error] = await fill(pool, "entries");
      expect(error).toBeInstanceOf(DatabaseFullError);
      expect(error).toMatchObject({ sqlState: "53100", cause: { code: "53100" } });
      expect((await pool.query("select count(*)::int from entries")).rows).toEqual([{ count }]);
    } finally {
      await pool.query("drop table if exists entries");
      await pool.query(`drop tablespace if exists ${space}`);
      run("umount", "--lazy", path);
    }
  });
});
