import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import pg from "pg";
import { afterAll, beforeAll, inject } from "vitest";
import { openDatabase, type Database, type DatabaseOptions } from "../../src/storage/database.ts";
import { newDatabaseFolder } from "./pglite-template.ts";

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
}

/** Call at the top of a test file. */
export function useDatabase(
  kind: Database["kind"],
  { synchronousCommit = false }: TestDatabaseOptions = {},
): TestDatabase {
  return kind === "postgres" ? usePostgres(synchronousCommit) : usePGlite();
}

function usePGlite(): TestDatabase {
  return useDatabaseAt("pglite", true, async () => {
    const folder = await newDatabaseFolder();
    return { options: { folder }, remove: () => rm(folder, { recursive: true, force: true }) };
  });
}

function usePostgres(synchronousCommit: boolean): TestDatabase {
  const serverUrl = inject("postgresUrl");
  return useDatabaseAt("postgres", serverUrl !== "", async () => {
    const name = `stratagraph_test_${randomBytes(6).toString("hex")}`;
    await runOnServer(serverUrl, `create database ${name}`);
    if (!synchronousCommit) {
      await runOnServer(serverUrl, `alter database ${name} set synchronous_commit = off`);
    }
    const url = new URL(serverUrl);
    url.pathname = `/${name}`;
    return {
      options: { url: url.toString(), connectTimeoutMs: 10_000 },
      remove: () => runOnServer(serverUrl, `drop database if exists ${name} with (force)`),
    };
  });
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

async function runOnServer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
