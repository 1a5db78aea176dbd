import { createHash } from "node:crypto";
import { tableSetOpener } from "../../storage/move-tables.ts";
import {
  type DatabasePool,
  type Queryable,
  type QueryConfig,
  quoteIdentifier,
} from "../../storage/pool.ts";
import { defaultTenant } from "../../storage/tenant.ts";
import { tenantPool } from "../../storage/tenant-pool.ts";
import { CorruptMemoryError } from "../errors.ts";
import { type ExperimentMemory, MemoryConflictError, type RunMemory } from "./run-memory.ts";

export interface DatabaseExperimentMemoryOptions {
  /** Schema of the tables, made if need be. Any name: it is escaped. Default `public`. */
  readonly schema?: string;
  /** The tenant whose runs these are: a UUID in lower case. Default: that of a single tenant. */
  readonly tenantId?: string;
}

/** Any number: tells the locks of runs from others that are made of the same text. */
const LOCK_SEED = 5_318_008_177;

/** Does what is asked for one run in the order in which it was asked for; runs do not wait for each other. */
export class RunQueue {
  /** Of each run that has work under way, the last piece. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Resolves or rejects as `work` does, which begins when all that was asked for the run before has ended. */
  add<T>(runId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(runId) ?? Promise.resolve();
    const done = before.then(work, work);
    const forget = () => {
      if (this.#last.get(runId) === done) this.#last.delete(runId);
    };
    this.#last.set(runId, done);
    void done.then(forget, forget);
    return done;
  }
}

/**
 * The memory of experiments on Postgres or PGlite. Its tables are made by the first use; the pool stays the caller's.
 * Each change is one transaction that has its run for itself, so that what it takes to undo it is right whatever other
 * processes do.
 */
export class DatabaseExperimentMemory implements ExperimentMemory {
  readonly #pool: DatabasePool;
  readonly #open: () => Promise<unknown>;
  readonly #lock: readonly string[];
  readonly #statements: MemoryStatements;
  readonly #queue = new RunQueue();

  /** @throws InvalidIdentifierError for a schema that Postgres cannot have; InvalidTenantError */
  constructor(pool: DatabasePool, options: DatabaseExperimentMemoryOptions = {}) {
    const { schema = "public", tenantId = defaultTenant } = options;
    const migrations = new URL("migrations", import.meta.url);
    const role = tableSetOpener(pool, { name: "experiment_memory", schema, migrations });
    this.#open = role;
    this.#pool = tenantPool({ pool, role }, tenantId);
    this.#lock = [tenantId, schema];
    this.#statements = memoryStatements(schema);
  }

  of(runId: string): RunMemory {
    return new DatabaseRunMemory(runId, this.#statements, {
      inTurn: (work) => this.#inTurn(runId, () => work(this.#pool)),
      alone: (work) => this.#inTurn(runId, () => this.#locked(runId, work)),
    });
  }

  /** Makes the tables, unless they are there; any number of times, and by any number of processes at once. */
  async setup(): Promise<void> {
    await this.#open();
  }

  #inTurn<T>(runId: string, work: () => Promise<T>): Promise<T> {
    return this.#queue.add(runId, work);
  }

  /** Where it rejects, the transaction is rolled back as the client is released. */
  async #locked<T>(runId: string, work: (client: Queryable) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    try {
      // Under a stricter isolation what is read after waiting for the lock would be what was there before.
      await client.query("begin isolation level read committed");
      const lock = [JSON.stringify([...this.#lock, runId]), LOCK_SEED];
      await client.query({ ...this.#statements.lock, values: lock });
      const result = await work(client);
      await client.query("commit");
      return result;
    } finally {
      client.release();
    }
  }
}

/** How the memory of one run gets at the database. */
export interface RunAccess {
  /** Begins when all that was asked for the run before, in this process, has ended. */
  inTurn<T>(work: (database: Queryable) => Promise<T>): Promise<T>;
  /** The same in a transaction that has the run's lock, and is rolled back where `work` rejects. */
  alone<T>(work: (client: Queryable) => Promise<T>): Promise<T>;
}

class DatabaseRunMemory implements RunMemory {
  readonly #runId: string;
  readonly #statements: MemoryStatements;
  readonly #access: RunAccess;

  constructor(runId: string, statements: MemoryStatements, access: RunAccess) {
    this.#runId = runId;
    this.#statements = statements;
    this.#access = access;
  }

  list(): Promise<readonly string[]> {
    return this.#access.inTurn(async (database) => {
      const { rows } = await database.query<{ key: string }>({
        ...this.#statements.list,
        values: [this.#runId],
      });
      // Here, since databases order by code points at best, which differs from code units beyond U+FFFF.
      return rows.map(({ key }) => key).toSorted();
    });
  }

  read(key: string): Promise<string | null> {
    return this.#access.inTurn(async (database) => {
      const { rows } = await database.query<{ value: string; hash: Buffer | null }>({
        ...this.#statements.read,
        values: [this.#runId, key],
      });
      const [row] = rows;
      if (row === undefined) return null;
      const isSound = row.hash === null || row.hash.equals(this.#hash(key, row.value));
      if (!isSound) throw new CorruptMemoryError(this.#runId, key);
      return row.value;
    });
  }

  write(key: string, value: string, change: number): Promise<boolean> {
    return this.#change(this.#statements.write, change, [key, value, this.#hash(key, value)]);
  }

  delete(key: string, change: number): Promise<boolean> {
    return this.#change(this.#statements.delete, change, [key]);
  }

  lastChange(): Promise<number> {
    return this.#access.inTurn(async (database) => {
      const last = { ...this.#statements.last, values: [this.#runId] };
      const { rows } = await database.query<{ last: number }>(last);
      return rows[0]?.last ?? 0;
    });
  }

  rewind(change: number): Promise<void> {
    return this.#access.alone(async (client) => {
      await client.query({ ...this.#statements.rewind, values: [this.#runId, change] });
    });
  }

  clear(): Promise<void> {
    return this.#access.alone(async (client) => {
      await client.query({ ...this.#statements.clear, values: [this.#runId] });
    });
  }

  #hash(key: string, value: string): Buffer {
    return createHash("sha256")
      .update(JSON.stringify([1, this.#runId, key, value]))
      .digest();
  }

  #change(
    statement: MemoryStatements["write"],
    change: number,
    values: readonly unknown[],
  ): Promise<boolean> {
    return this.#access.alone(async (client) => {
      const { rows } = await client.query<ChangeRow>({
        ...statement,
        values: [this.#runId, change, ...values],
      });
      const { last, made, existed } = rows[0]!;
      if (!made) throw new MemoryConflictError(this.#runId, change, last);
      return existed;
    });
  }
}

type Statement = Omit<QueryConfig, "values">;

/** Statements on the memory of one run, whose id is $1 in each. Those that change it expect the run's lock. */
interface MemoryStatements {
  /** Waits until no other transaction has the run; ends with the transaction. */
  readonly lock: Statement;
  readonly list: Statement;
  /** $2 is the key. */
  readonly read: Statement;
  /** $2 the number of the change, $3 the key, $4 the value, $5 its hash. Gives a {@link ChangeRow}. */
  readonly write: Statement;
  /** $2 the number of the change, $3 the key. Gives a {@link ChangeRow}. */
  readonly delete: Statement;
  /** $2 is the number of the last change that stays. */
  readonly rewind: Statement;
  /** Gives the number of the last change as `last`; 0 for none. */
  readonly last: Statement;
  readonly clear: Statement;
}

interface ChangeRow {
  /** Number of the last change before this one; 0 for none. */
  readonly last: number;
  /** False where the number was not above that; nothing was changed then. */
  readonly made: boolean;
  /** Whether there was a value before. */
  readonly existed: boolean;
}

/** @throws InvalidIdentifierError for a schema that Postgres cannot have */
function memoryStatements(schema: string): MemoryStatements {
  const quoted = quoteIdentifier(schema);
  const memory = `${quoted}.experiment_memory`;
  const changes = `${quoted}.experiment_memory_changes`;
  const prefix = `experiment-memory-${createHash("sha256").update(schema).digest("hex").slice(0, 12)}`;
  const named = (name: string, text: string): Statement => ({ name: `${prefix}-${name}`, text });
  const logged = `last as (select coalesce(max(change), 0) as change from ${changes} where run_id = $1),
    logged as (
      insert into ${changes} (run_id, change, key, before, before_hash)
      select $1, $2::integer, $3, known.value, known.hash
      from last left join ${memory} as known on known.run_id = $1 and known.key = $3
      where last.change < $2
      returning before)`;
  const changeRow = `select last.change as last, exists (select from logged) as made,
      exists (select from logged where before is not null) as existed from last`;
  return {
    lock: named("lock", "select pg_advisory_xact_lock(hashtextextended($1, $2))"),
    list: named("list", `select key from ${memory} where run_id = $1`),
    read: named("read", `select value, hash from ${memory} where run_id = $1 and key = $2`),
    write: named(
      "write",
      `with ${logged},
    written as (
      insert into ${memory} (run_id, key, value, hash, change) select $1, $3, $4, $5::bytea, $2::integer from logged
      on conflict (tenant_id, run_id, key) do update
      set value = excluded.value, hash = excluded.hash, change = excluded.change, updated_at = excluded.updated_at)
    ${changeRow}`,
    ),
    delete: named(
      "delete",
      `with ${logged},
    deleted as (delete from ${memory} using logged where run_id = $1 and key = $3)
    ${changeRow}`,
    ),
    rewind: named("rewind", rewindStatement(memory, changes)),
    last: named(
      "last",
      `select coalesce(max(change), 0) as last from ${changes} where run_id = $1`,
    ),
    clear: named(
      "clear",
      `with forgotten as (delete from ${changes} where run_id = $1) delete from ${memory} where run_id = $1`,
    ),
  };
}

/**
 * A key gets the value before its first change that is taken back, with the number and the time of the change that had
 * written it.
 */
function rewindStatement(memory: string, changes: string): string {
  return `with undone as (delete from ${changes} where run_id = $1 and change > $2 returning change, key, before, before_hash),
    first as (select distinct on (key) key, before, before_hash from undone order by key, change),
    removed as (
      delete from ${memory} as known using first
      where known.run_id = $1 and known.key = first.key and first.before is null),
    earlier as (
      select distinct on (key) key, change, made_at from ${changes} where run_id = $1 and change <= $2
      order by key, change desc)
    insert into ${memory} (run_id, key, value, hash, change, updated_at)
    select $1, key, first.before, first.before_hash, earlier.change, earlier.made_at from first join earlier using (key)
    where first.before is not null
    on conflict (tenant_id, run_id, key) do update
    set value = excluded.value, hash = excluded.hash, change = excluded.change, updated_at = excluded.updated_at`;
}
