import pg from "pg";
import type { TestProject } from "vitest/node";
import { redactUrl } from "../../src/storage/connection-url.ts";
import { bundlePrograms, removePrograms } from "./programs.ts";
import { testSeed } from "./random.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Where Postgres answers; empty when it does not. */
    postgresUrl: string;
  }
}

/** Prints the seed of random tests, bundles programs, looks for a Postgres server and provides its address to test files. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  console.log(`Random tests have the seed ${testSeed}; TEST_SEED=${testSeed} repeats them.`);
  await Promise.all([bundlePrograms(), findPostgres(project)]);
  return removePrograms;
}

async function findPostgres(project: TestProject): Promise<void> {
  const url = process.env["DATABASE_URL"] || "postgres://postgres@127.0.0.1:5432/test";
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 3000 });
  try {
    await client.connect();
    project.provide("postgresUrl", url);
  } catch {
    console.warn(`Postgres tests skipped: nothing answers at ${redactUrl(url)}`);
    project.provide("postgresUrl", "");
  } finally {
    await client.end();
  }
}
