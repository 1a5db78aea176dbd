import pg from "pg";
import type { TestProject } from "vitest/node";
import { redactUrl } from "../../src/storage/pool.ts";
import { buildPages } from "../../web/build.ts";
import { makeTemplate } from "./pglite-template.ts";
import { newPostgresTemplate, removePostgresDatabase } from "./postgres-template.ts";
import { bundlePrograms, removePrograms } from "./programs.ts";
import { testSeed } from "./random.ts";
import { useTempRoot } from "./temp-root.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Where Postgres answers; empty when it does not. */
    postgresUrl: string;
    /** Name of the database on it that {@link createPostgresDatabase} copies. */
    postgresTemplate: string;
  }
}

/**
 * Prints the seed of random tests, bundles programs, builds the pages, makes the folder for temporary files and the database that tests
 * copy, looks for a Postgres server and provides its address to test files.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  console.log(`Random tests have the seed ${testSeed}; TEST_SEED=${testSeed} repeats them.`);
  const removeTempRoot = useTempRoot();
  const [postgresUrl] = await Promise.all([
    findPostgres(),
    bundlePrograms(),
    makeTemplate(),
    buildPages(),
  ]);
  project.provide("postgresUrl", postgresUrl);
  const template = newPostgresTemplate();
  project.provide("postgresTemplate", template);
  return async () => {
    removeTempRoot();
    await removePrograms();
    if (postgresUrl !== "") await removePostgresDatabase(postgresUrl, template);
  };
}

async function findPostgres(): Promise<string> {
  const url = process.env["DATABASE_URL"] || "postgres://postgres@127.0.0.1:5432/test";
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 3000 });
  try {
    await client.connect();
    return url;
  } catch {
    console.warn(`Postgres tests skipped: nothing answers at ${redactUrl(url)}`);
    return "";
  } finally {
    await client.end();
  }
}
