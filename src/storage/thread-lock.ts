import { createHash } from "node:crypto";
import { errorMessage, StratagraphError } from "../errors.ts";
import type { Database } from "./database.ts";
import { DatabaseUnavailableError, PooledSessionError } from "./errors.ts";
import type { DatabaseClient, DatabasePool } from "./pool.ts";
import { isSessionShared } from "./pooled-session.ts";
import { defaultTenant } from "./tenant.ts";

/** Another run or recovery holds the thread, in this process or in another. */
export class ThreadLockedError extends StratagraphError {
  readonly code = "thread_locked";
  override readonly kind = "run";

  constructor(readonly threadId: string) {
    super(
      `Thread ${JSON.stringify(threadId)} is run or recovered elsewhere. Try again when that has ended.`,
    );
  }
}

export interface ThreadLockOptions {
  /** Schema of the thread's tables: threads of one id in two schemas are two threads. Default `public`. */
  schema?: string;
  /** The thread's tenant: threads of one id of two tenants are two threads. Default: that of a single tenant. */
  tenantId?: string;
  /**
   * Whether others who say so may hold it at the same time, as claims of one run that a fence keeps apart: that of a frozen
   * process, which keeps its session, and the one after it. Default false: for this caller alone.
   */
  isShared?: boolean;
}

/**
 * Takes a thread for this caller alone, among all users of its database in all processes. It does not wait. The lock
 * ends with `release`, and with the process however that ends; closing the database waits for it on a server.
 *
 * On a Postgres server all locks of a pool are advisory locks on one of its sessions, which is in use while any is held:
 * give the pool two sessions at least. The session must last: behind a pooler that hands sessions on after each
 * transaction, `listenUrl` of the database opens one that reaches the server directly. On an embedded database the locks are in this process, since no other can open it.
 *
 * @throws {ThreadLockedError} if the thread is locked.
 * @throws {PooledSessionError} behind a pooler that shares sessions, without a direct one.
 * @example
 * const lock = await lockThread(database, "thread-1");
 * try {
 *   await run({ signal: lock.signal });
 * } finally {
 *   await lock.release();
 * }
 */
export async function lockThread(
  database: Pick<Database, "pool">,
  threadId: string,
  options: ThreadLockOptions = {},
): Promise<HeldLock> {
  const { pool } = database;
  const { schema = "public", tenantId = defaultTenant, isShared = false } = options;
  const key = lockKey([tenantId, schema, threadId]);
  const lock = pool.heldLocks
    ? tryLocalLock(pool.heldLocks, key)
    : await tryAdvisoryLock(pool, key, isShared);
  if (!lock) throw new ThreadLockedError(threadId);
  return lock;
}

/** A 64-bit integer, all that an advisory lock knows of a thread. */
function lockKey(thread: readonly [tenantId: string, schema: string, threadId: string]): string {
  const hash = createHash("sha256")
    .update(JSON.stringify(["thread", ...thread]))
    .digest();
  return hash.readBigInt64BE().toString();
}

function tryLocalLock(held: Set<string>, key: string): HeldLock | undefined {
  if (held.has(key)) return undefined;
  held.add(key);
  let released = false;
  return {
    signal: new AbortController().signal,
    async release() {
      if (!released) held.delete(key);
      released = true;
    },
  };
}

/** A lock that is held. */
export interface HeldLock {
  /** Aborts when the lock is lost with its session, with the error as its reason: another process may hold it then. */
  readonly signal: AbortSignal;
  /** The server's time when the lock was asked for, as its text; left out where the locks are in this process. */
  readonly takenAt?: string;
  /** Gives the lock back; twice is once, and a lock that was lost is gone already. Never rejects. */
  release(): Promise<void>;
}

/** The end of the names of the server's functions. */
type LockMode = "" | "_shared";

/** What the server says of a lock, and its time when it was asked. */
interface Answer {
  readonly done: boolean;
  readonly at: string;
}

const sessions = new WeakMap<DatabasePool, LockSession>();

const pooled = new WeakMap<DatabasePool, Promise<boolean>>();

/** {@link isSessionShared}, found out once for a pool. */
function isPooled(pool: DatabasePool, client: DatabaseClient): Promise<boolean> {
  const known = pooled.get(pool) ?? isSessionShared(pool, client);
  pooled.set(pool, known);
  known.catch(() => pooled.delete(pool));
  return known;
}

/** Takes the advisory lock `key`, or returns undefined if it is taken, even by a user of the same pool. */
async function tryAdvisoryLock(
  pool: DatabasePool,
  key: string,
  isShared: boolean,
): Promise<HeldLock | undefined> {
  let session = sessions.get(pool);
  if (!session) {
    const made = new LockSession(pool, () => {
      if (sessions.get(pool) === made) sessions.delete(pool);
    });
    sessions.set(pool, (session = made));
  }
  return session.tryLock(key, isShared ? "_shared" : "");
}

/**
 * The one session on which all locks of a pool are held, from the first that is taken to the last that is given back.
 * A session may take its own lock again, which is why the keys are written down here as well.
 */
class LockSession {
  readonly #held = new Map<string, AbortController>();
  readonly #client: Promise<DatabaseClient>;
  #last: Promise<unknown> = Promise.resolve();
  #ended = false;

  constructor(
    pool: DatabasePool,
    private readonly onEnd: () => void,
  ) {
    this.#client = this.#open(pool);
    this.#client.catch(() => undefined); // Each that waits for it hears of it.
  }

  async tryLock(key: string, mode: LockMode): Promise<HeldLock | undefined> {
    if (this.#held.has(key)) return undefined;
    const lost = new AbortController();
    this.#held.set(key, lost);
    let answer: Answer | undefined;
    try {
      answer = await this.#ask(`pg_try_advisory_lock${mode}`, key);
    } finally {
      if (answer?.done !== true) await this.#leave(key);
    }
    if (!answer.done) return undefined;
    let released: Promise<void> | undefined;
    return {
      signal: lost.signal,
      takenAt: answer.at,
      release: () => (released ??= this.#unlock(key, mode)),
    };
  }

  async #open(pool: DatabasePool): Promise<DatabaseClient> {
    const client = await (pool.direct ?? pool).connect();
    client.lost?.addEventListener("abort", () => this.#lose(client, client.lost?.reason));
    try {
      const isShared = pool.direct === undefined && (await isPooled(pool, client));
      if (isShared) throw new PooledSessionError();
      // A lock is held for as long as an agent runs, without a statement in between.
      const set = client.query("set idle_session_timeout = 0");
      set.catch((error: unknown) => this.#lose(client, error));
      if (client.pipelines !== true) await set;
      return client;
    } catch (error) {
      if (!this.#ended) client.release(true);
      throw error;
    }
  }

  /** One question after the other: node-postgres is about to stop queueing them. */
  #ask(
    name: `pg_${"try_advisory_lock" | "advisory_unlock"}${LockMode}`,
    key: string,
  ): Promise<Answer> {
    const answer = this.#last.then(async () => {
      const client = await this.#client;
      const { rows } = await client.query<Answer>(`select ${name}($1) as done, now()::text as at`, [
        key,
      ]);
      return rows[0]!;
    });
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  async #unlock(key: string, mode: LockMode): Promise<void> {
    if (this.#ended) return;
    try {
      await this.#ask(`pg_advisory_unlock${mode}`, key);
    } catch (error) {
      // With the session all its locks go, this one too.
      return this.#lose(await this.#client, error);
    }
    // The session is given back in the background.
    void this.#leave(key);
  }

  /** The last to leave gives the session back. */
  async #leave(key: string): Promise<void> {
    this.#held.delete(key);
    if (this.#held.size > 0 || this.#ended) return;
    this.#end();
    try {
      const client = await this.#client;
      const clean = client.query("reset idle_session_timeout").then(
        () => true,
        () => false,
      );
      client.release(!(await clean));
    } catch {
      // There was no session to give back.
    }
  }

  #lose(client: DatabaseClient, reason: unknown): void {
    if (this.#ended) return;
    this.#end();
    client.release(true);
    const error =
      reason instanceof StratagraphError
        ? reason
        : new DatabaseUnavailableError(errorMessage(reason), null, reason);
    for (const lost of this.#held.values()) lost.abort(error);
  }

  #end(): void {
    this.#ended = true;
    this.onEnd();
  }
}
