import { mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { PGlite } from "@electric-sql/pglite";
import {
  dropUnusedDatabases,
  packDatabase,
  unpackEmptyDatabase,
} from "../../src/storage/empty-database.ts";
import { tempFolder } from "../helpers/temp-folder.ts";

const folder = tempFolder();
const archive = pathToFileURL(join(folder, "database.tar.br"));

beforeAll(async () => {
  const database = await PGlite.create();
  await dropUnusedDatabases(database);
  await database.exec("create table notes (text text); insert into notes values ('packed')");
  await packDatabase(database, archive);
  await database.close();
});

describe("the database that comes with the package", () => {
  it("has what was packed, in files that only their owner reads", async () => {
    const made = join(folder, "made");
    unpackEmptyDatabase(made, archive);
    const modes = readdirSync(made, { recursive: true, encoding: "utf8" }).map(
      (path) => statSync(join(made, path)).mode & 0o077,
    );
    expect(modes.length).toBeGreaterThan(300);
    expect(modes.every((mode) => mode === 0)).toBe(true);
    const database = await PGlite.create({ dataDir: made });
    expect((await database.query("select datname from pg_database")).rows).toEqual([
      { datname: "postgres" },
    ]);
    expect((await database.query("select text from notes")).rows).toEqual([{ text: "packed" }]);
    await database.close();
  });

  it("leaves a folder that exists as it is", () => {
    const present = join(folder, "present");
    mkdirSync(present);
    writeFileSync(join(present, "PG_VERSION"), "18");
    unpackEmptyDatabase(present, archive);
    expect(readdirSync(present)).toEqual(["PG_VERSION"]);
  });

  it("begins anew where a process was killed while it unpacked", () => {
    const killed = join(folder, "killed");
    mkdirSync(`${killed}.unfinished`);
    writeFileSync(join(`${killed}.unfinished`, "half"), "");
    unpackEmptyDatabase(killed, archive);
    expect(readdirSync(killed)).toContain("PG_VERSION");
    expect(readdirSync(killed)).not.toContain("half");
    expect(readdirSync(folder)).not.toContain("killed.unfinished");
  });

  it("does nothing without an archive, as from sources", () => {
    const absent = join(folder, "absent");
    unpackEmptyDatabase(absent, pathToFileURL(join(folder, "none.tar.br")));
    expect(readdirSync(folder)).not.toContain("absent");
  });
});
