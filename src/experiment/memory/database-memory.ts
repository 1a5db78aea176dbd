import { loadMigrations } from "../../storage/load-migrations.ts";
import { migrate } from "../../storage/migrate.ts";
import type { DatabasePool, Queryable } from "../../storage/pool.ts";
import { DatabaseRunMemory } from "./database-run-memory.ts";
import type { ExperimentMemory, RunMemory } from "./run-memory.ts";
import { RunQueue } from "./run-queue.ts";
import { memoryStatements, type MemoryStatements } from "./statements.ts";

export interface DatabaseExperimentMemoryOptions {
  /** Schema of the tables, made if need be. Any name: it is escaped. Default `public`. */
  readonly schema?: string;
}

/** Any number: tells the locks of runs from others that are made of the same text. */
const LOCK_SEED = 5_318_008_177;

/**
 * The memory of experiments on Postgres or PGlite. Its tables are made by the first use; the pool stays the caller's.
 * Each change is one transaction that has its run for itself, so that what it takes to undo it is right whatever other
 * processes do.
 */
export class DatabaseExperimentMemory implements ExperimentMemory {
  readonly #pool: DatabasePool;
  readonly #schema: string;
  readonly #statements: MemoryStatements;
  readonly #queue = new RunQueue();
  #setUp: Promise<void> | undefined;

  /** @throws InvalidIdentifierError for a schema that Postgres cannot have */
  constructor(pool: DatabasePool, options: DatabaseExperimentMemoryOptions = {}) {
    this.#pool = pool;
    this.#schema = options.schema ?? "public";
    this.#statements = memoryStatements(this.#schema);
  }

  of(runId: string): RunMemory {
    return new DatabaseRunMemory(runId, this.#statements, {
      inTurn: (work) => this.#inTurn(runId, () => work(this.#pool)),
      alone: (work) => this.#inTurn(runId, () => this.#locked(runId, work)),
    });
  }

  /** Makes the tables, unless they are there; any number of times, and by any number of processes at once. */
  setup(): Promise<void> {
    this.#setUp ??= this.#migrate().catch((error: unknown) => {
      this.#setUp = undefined;
      throw error;
    });
    return this.#setUp;
  }

  async #migrate(): Promise<void> {
    const migrations = await loadMigrations(new URL("migrations", import.meta.url));
    await migrate(this.#pool, { schema: this.#schema, name: "experiment_memory", migrations });
  }

  #inTurn<T>(runId: string, work: () => Promise<T>): Promise<T> {
    return this.#queue.add(runId, async () => {
      await this.setup();
      return work();
    });
  }

  /** Where it rejects, the transaction is rolled back as the client is released. */
  async #locked<T>(runId: string, work: (client: Queryable) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    try {
      // Under a stricter isolation what is read after waiting for the lock would be what was there before.
      await client.query("begin isolation level read committed");
      const lock = [JSON.stringify([this.#schema, runId]), LOCK_SEED];
      await client.query({ ...this.#statements.lock, values: lock });
      const result = await work(client);
      await client.query("commit");
      return result;
    } finally {
      client.release();
    }
  }
}
