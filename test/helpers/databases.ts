import { rm } from "node:fs/promises";
import { afterAll, beforeAll, inject } from "vitest";
import { openDatabase, type Database, type DatabaseOptions } from "../../src/storage/database.ts";
import { newDatabaseFolder } from "./pglite-template.ts";
import {
  createPostgresDatabase,
  postgresUrlOf,
  removePostgresDatabase,
} from "./postgres-template.ts";
import { seededRandom } from "./random.ts";

/** A database of one test file: new before its tests, removed after them. */
export interface TestDatabase {
  readonly kind: Database["kind"];
  /** False when no Postgres server answers; the file's tests are then to be skipped: `describe.skipIf(!database.available)`. */
  readonly available: boolean;
  /** What {@link openDatabase} takes to open it; from the first test on. */
  readonly options: DatabaseOptions;
  /** Open from the first test to the last. */
  readonly shared: Database;
  /** Opens it once more; what a test leaves open is closed after the file. */
  open(): Promise<Database>;
}

export interface TestDatabaseOptions {
  /** Whether commits on Postgres wait for the disk. Default false: tests end processes, never the server. */
  readonly synchronousCommit?: boolean;
  /** Whether all tables are there, and empty. Default true; PGlite always has them. */
  readonly hasTables?: boolean;
}

/** Call at the top of a test file. */
export function useDatabase(
  kind: Database["kind"],
  options: TestDatabaseOptions = {},
): TestDatabase {
  return kind === "postgres" ? usePostgres(options) : usePGlite();
}

function usePGlite(): TestDatabase {
  return useDatabaseAt("pglite", true, async () => {
    const folder = await newDatabaseFolder();
    return { options: { folder }, remove: () => rm(folder, { recursive: true, force: true }) };
  });
}

function usePostgres({
  synchronousCommit = false,
  hasTables = true,
}: TestDatabaseOptions): TestDatabase {
  const serverUrl = inject("postgresUrl");
  const template = hasTables ? inject("postgresTemplate") : undefined;
  return useDatabaseAt("postgres", serverUrl !== "", async () => {
    const name = await createPostgresDatabase(serverUrl, { template, synchronousCommit });
    const url = postgresUrlOf(serverUrl, name);
    return {
      options: { url, connectTimeoutMs: 10_000 },
      remove: () => removePostgresDatabase(serverUrl, name),
    };
  });
}

/**
 * Returns the databases on which the tests of a file run whose statements are the same on both: one that the seed draws, or
 * both with `DATABASES=both`. Without a Postgres server it is PGlite. Tests of connections, locks, roles and migrations,
 * and the contracts of the checkpointer and of runs, always run on both.
 * @param file the URL of the test file's module
 */
export function drawDatabases(file: string): readonly Database["kind"][] {
  if (process.env["DATABASES"] === "both") return ["pglite", "postgres"];
  if (inject("postgresUrl") === "") return ["pglite"];
  // Without the path of the checkout, so that a seed draws the same on each machine.
  const random = seededRandom(`database of ${file.split("/test/").at(-1)}`);
  return [random() < 0.5 ? "pglite" : "postgres"];
}

interface Storage {
  options: DatabaseOptions;
  remove(): Promise<void>;
}

function useDatabaseAt(
  kind: Database["kind"],
  available: boolean,
  create: () => Promise<Storage>,
): TestDatabase {
  const opened: Database[] = [];
  let storage: Storage | undefined;
  let shared: Database | undefined;

  const open = async (): Promise<Database> => {
    const database = await openDatabase(existing(storage).options);
    opened.push(database);
    return database;
  };
  beforeAll(async () => {
    if (!available) return;
    storage = await create();
    shared = await open();
  });
  afterAll(async () => {
    await Promise.all(opened.map((database) => database.close()));
    await storage?.remove();
  });
  return {
    kind,
    available,
    open,
    get options() {
      return existing(storage).options;
    },
    get shared() {
      return existing(shared);
    },
  };
}

function existing<Value>(value: Value | undefined): Value {
  if (value === undefined)
    throw new Error("The database is there from the first test on, not while tests are collected.");
  return value;
}
