import { DatabaseClosedError, LeaseLostError, sqlStateOf } from "./errors.ts";
import {
  type DatabaseClient,
  type DatabasePool,
  type QueryConfig,
  type QueryResult,
  quoteIdentifier,
} from "./pool.ts";
import { InvalidTenantError, tenantIdPattern, type TenantPool } from "./tenant.ts";
import { type Begun, begin, idleLimit, runAlone, runTogether } from "./transaction.ts";

/** A claim on a run: what is written under an older epoch than the run's, or while the run is not running, is refused. */
export interface RunClaim {
  /** Id of the row in the table `run`: a UUID in lower case. */
  readonly runId: string;
  /** The run's epoch when it was claimed. */
  readonly epoch: number;
}

/**
 * The claims under which threads are written, shared by the checkpointer and the journal of a tenant. While a thread is
 * fenced, each transaction that writes for its run begins with a check of the claim, and holds the run's row until it
 * ends: a new claim waits for a write under way, and what an older one writes afterwards is refused. The epoch alone is
 * not enough: a run whose lease ended may be cancelled in the queue without a further claim, and the next run of the
 * thread begins.
 */
export class ThreadFences {
  readonly #fences = new Map<string, Fence>();
  readonly #table: string;

  /** @param schema of the table `run`; any name: it is escaped */
  constructor(schema = "stratagraph") {
    this.#table = `${quoteIdentifier(schema)}.run`;
  }

  /** Fences a thread until it is released, or fenced by another claim. @throws RangeError for a claim that no row has */
  fence(threadId: string, claim: RunClaim): void {
    const { runId, epoch } = claim;
    if (!tenantIdPattern.test(runId) || !Number.isSafeInteger(epoch))
      throw new RangeError(`Expected a UUID and a whole number, got ${runId} and ${epoch}.`);
    // Fails where there is no such row, so that statements sent behind it fail as well.
    const check = `select 1 / count(*) from (select from ${this.#table} where id = '${runId}' and epoch = ${epoch} and state = 'running' for share) as claimed`;
    this.#fences.set(threadId, { claim, check });
  }

  /** Lets a thread be written without a check again. One that is not fenced is fine. */
  release(threadId: string): void {
    this.#fences.delete(threadId);
  }

  /** Returns the fence of a thread. */
  of(threadId: string): Fence | undefined {
    return this.#fences.get(threadId);
  }
}

interface Fence {
  readonly claim: RunClaim;
  /** Holds the run's row. Fails with a division by zero where the claim is lost. */
  readonly check: string;
}

/** Where the tables of tenants are. A `role` that is a function is called by each transaction before it begins. */
export interface TenantDatabase {
  readonly pool: DatabasePool;
  readonly role: TenantPool["role"] | (() => Promise<TenantPool["role"]>);
}

/** A pool that sends statements of one transaction together. */
export interface TransactionPool extends DatabasePool {
  /** Runs statements in one transaction. @throws what the first that failed has failed with */
  queryTogether(statements: readonly QueryConfig[]): Promise<readonly QueryResult[]>;
}

/** A pool whose statements read and write rows of one tenant alone. */
export interface ThreadPool extends DatabasePool {
  /** Returns the pool for what a thread's run writes: fenced while the thread is. */
  forThread(threadId: string): TransactionPool;
  /** The claim under which a thread is written now, the same object as long as it holds; undefined without one. */
  claimOf(threadId: string): object | undefined;
}

/**
 * Returns a pool that reads and writes rows of one tenant alone, whatever its statements leave out. Each statement
 * outside a transaction gets one of its own. Statements for the session, and those that no transaction may run (`set`,
 * `vacuum`, session locks), belong on the pool of `database`.
 *
 * Connecting throws what `role` throws; statements throw {@link LeaseLostError} once the claim of their thread is lost.
 *
 * @throws {InvalidTenantError} for an id that is no UUID in lower case
 */
export function tenantPool(
  database: TenantDatabase,
  tenantId: string,
  fences?: ThreadFences,
): ThreadPool {
  if (!tenantIdPattern.test(tenantId)) throw new InvalidTenantError(tenantId);
  const pool = new ScopedPool(database, tenantId, undefined);
  return Object.assign(pool, {
    forThread(threadId: string): TransactionPool {
      const fence = fences?.of(threadId);
      return fence === undefined ? pool : new ScopedPool(database, tenantId, fence);
    },
    claimOf: (threadId: string) => fences?.of(threadId),
  });
}

class ScopedPool implements TransactionPool {
  declare readonly heldLocks?: Set<string>;

  constructor(
    private readonly database: TenantDatabase,
    private readonly tenantId: string,
    private readonly fence: Fence | undefined,
  ) {
    if (database.pool.heldLocks) this.heldLocks = database.pool.heldLocks;
  }

  async connect(): Promise<ScopedClient> {
    const { pool, role: given } = this.database;
    const role = typeof given === "function" ? await given() : given;
    const asRole = role === null ? "" : `set local role ${quoteIdentifier(role)}; `;
    const settings = `${asRole}set local app.tenant = '${this.tenantId}'`;
    return new ScopedClient(await pool.connect(), settings, this.fence);
  }

  async query<Row>(
    query: string | QueryConfig,
    values?: readonly unknown[],
  ): Promise<QueryResult<Row>> {
    const client = await this.connect();
    try {
      return await client.query<Row>(query, values);
    } finally {
      client.release();
    }
  }

  async queryTogether(statements: readonly QueryConfig[]): Promise<readonly QueryResult[]> {
    const client = await this.connect();
    try {
      return await client.queryTogether(statements);
    } finally {
      client.release();
    }
  }

  end(): Promise<void> {
    return this.database.pool.end();
  }
}

const BEGIN = /^\s*(?:begin|start\s+transaction)\b/i;
const END = /^\s*(?:commit|end|abort|rollback(?!\s+(?:(?:work|transaction)\s+)?to))\b/i;

/** Sets the tenant within each transaction. One statement after the other, in the order in which they were asked for. */
class ScopedClient implements DatabaseClient {
  /** The transaction under way. */
  #begun: Begun | null = null;
  #released = false;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly client: DatabaseClient,
    private readonly settings: string,
    private readonly fence: Fence | undefined,
  ) {}

  get lost(): AbortSignal {
    return this.client.lost as AbortSignal; // Absent where that of the client is.
  }

  async query<Row>(
    query: string | QueryConfig,
    values?: readonly unknown[],
  ): Promise<QueryResult<Row>> {
    if (this.#released)
      throw new DatabaseClosedError("The client was released: take another from the pool.");
    return this.#inTurn(() => this.#run<Row>(query, values));
  }

  /** Outside of a transaction. */
  queryTogether(statements: readonly QueryConfig[]): Promise<readonly QueryResult[]> {
    const transaction = { text: this.#beginText("begin"), shown: this.#shown };
    return this.#inTurn(() => runTogether(this.client, transaction, statements));
  }

  #inTurn<Result>(run: () => Promise<Result>): Promise<Result> {
    this.#waiting += 1;
    const result = this.#last.then(run);
    this.#last = result.catch(() => undefined).then(() => (this.#waiting -= 1));
    return result;
  }

  release(error?: Error | boolean): void {
    if (this.#released) throw new DatabaseClosedError("The client was released before.");
    this.#released = true;
    if (this.#waiting === 0) this.client.release(error);
    else void this.#last.then(() => this.client.release(error));
  }

  async #run<Row>(
    query: string | QueryConfig,
    values?: readonly unknown[],
  ): Promise<QueryResult<Row>> {
    const config = typeof query === "string" ? { text: query } : query;
    if (BEGIN.test(config.text)) {
      const begun = begin(this.client, this.#beginText(config.text));
      this.#begun = begun;
      try {
        await begun.sent;
      } catch (error) {
        this.#begun = null;
        // On a session that broke this fails too.
        await this.client.query("rollback").catch(() => undefined);
        throw this.#shown(error);
      }
      return { rows: [], rowCount: null, command: "BEGIN" };
    }
    const statement = { ...config, values: (values ?? config.values) as unknown[] };
    if (END.test(config.text)) {
      const begun = this.#begun;
      this.#begun = null;
      const ended = await this.client.query<Row>(statement);
      const failure = (await begun?.failure) ?? null;
      if (failure !== null && !isRollback(config.text)) throw this.#shown(failure);
      return ended;
    }
    if (this.#begun !== null) return this.#within<Row>(this.#begun, statement);
    const alone = { text: this.#beginText("begin"), shown: this.#shown };
    return runAlone<Row>(this.client, alone, statement);
  }

  async #within<Row>(begun: Begun, statement: QueryConfig): Promise<QueryResult<Row>> {
    try {
      return await this.client.query<Row>(statement);
    } catch (error) {
      const failure = await begun.failure;
      if (failure === null) throw error;
      // Until the caller ends the transaction, what follows fails as well: by itself it would be written.
      throw this.#shown(failure);
    }
  }

  /** One simple query: no round trip more than `begin` alone takes. */
  #beginText(word: string): string {
    const { fence } = this;
    const statements = [word.trim().replace(/;$/, ""), this.settings];
    if (fence) statements.push(idleLimit, fence.check);
    return statements.join("; ");
  }

  /** The error of a begin, in which only the check of a claim divides. */
  readonly #shown = (failure: unknown): unknown => {
    const { fence } = this;
    if (fence === undefined || sqlStateOf(failure) !== DIVISION_BY_ZERO) return failure;
    return new LeaseLostError(fence.claim);
  };
}

const DIVISION_BY_ZERO = "22012";

function isRollback(text: string): boolean {
  return /^\s*(?:rollback|abort)\b/i.test(text);
}
