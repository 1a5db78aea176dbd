import { randomBytes } from "node:crypto";
import pg from "pg";

export interface NewPostgresDatabaseOptions {
  /** Name of the database to copy, from {@link newPostgresTemplate}. Without one the database has no tables. */
  readonly template: string | undefined;
  readonly synchronousCommit: boolean;
}

/** Returns the name of a run's own database to copy. The first test file that needs it makes its tables. */
export function newPostgresTemplate(): string {
  return `stratagraph_template_${randomBytes(6).toString("hex")}`;
}

/** Creates a database and returns its name. Copying tables takes a fifth of the time that the migrations take. */
export async function createPostgresDatabase(
  serverUrl: string,
  { template, synchronousCommit }: NewPostgresDatabaseOptions,
): Promise<string> {
  const name = `stratagraph_test_${randomBytes(6).toString("hex")}`;
  await onServer(serverUrl, async (client) => {
    if (template !== undefined) await makeTemplate(client, { serverUrl, template });
    await client.query(`create database ${name} template ${template ?? "template1"}`);
    if (!synchronousCommit) {
      await client.query(`alter database ${name} set synchronous_commit = off`);
    }
  });
  return name;
}

/** Makes the template unless another process has, which this one waits for. */
async function makeTemplate(
  client: pg.Client,
  { serverUrl, template }: { readonly serverUrl: string; readonly template: string },
): Promise<void> {
  const found = () => client.query("select from pg_database where datname = $1", [template]);
  if ((await found()).rowCount !== 0) return;
  await client.query("select pg_advisory_lock(hashtext($1))", [template]);
  if ((await found()).rowCount !== 0) return;
  // Renamed when complete, so that no file copies half of it.
  const draft = `${template}_draft`;
  await client.query(`drop database if exists ${draft}`);
  await client.query(`create database ${draft}`);
  const [{ openDatabase }, { makeTables }] = await Promise.all([
    import("../../src/storage/database.ts"),
    import("./pglite-template.ts"),
  ]);
  const database = await openDatabase({ url: postgresUrlOf(serverUrl, draft) });
  await makeTables(database);
  await database.close();
  await client.query(`alter database ${draft} rename to ${template}`);
}

export function removePostgresDatabase(serverUrl: string, name: string): Promise<void> {
  return onServer(serverUrl, async (client) => {
    await client.query(`drop database if exists ${name} with (force)`);
  });
}

/** The address of a database on a server. */
export function postgresUrlOf(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.toString();
}

/** Locks of the session end with it. */
async function onServer(
  serverUrl: string,
  work: (client: pg.Client) => Promise<void>,
): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}
