import { createHash } from "node:crypto";
import { StratagraphError } from "../errors.ts";
import type { Database } from "./database.ts";
import { tryAdvisoryLock, type HeldLock } from "./lock-session.ts";

/** Somebody else runs or recovers a thread, in this process or in another. */
export class ThreadLockedError extends StratagraphError {
  readonly code = "thread_locked";
  override readonly kind = "run";

  constructor(readonly threadId: string) {
    super(
      `Thread ${JSON.stringify(threadId)} is run or recovered by somebody else. Try again when that is done.`,
    );
  }
}

export interface ThreadLockOptions {
  /** Schema of the thread's tables: threads of one id in two schemas are two threads. Default `public`. */
  schema?: string;
}

/**
 * Takes a thread for this caller alone, among all users of its database in all processes. It does not wait. The lock
 * ends with `release`, and with the process however that ends; closing the database waits for it on a server.
 *
 * On a Postgres server all locks of a pool are advisory locks on one of its sessions, which is in use while any is held:
 * give the pool two sessions at least. The session must last, so a pooler that hands sessions on after each transaction
 * cannot carry these locks. On an embedded database the locks are in this process, since no other can open it.
 *
 * @throws {ThreadLockedError} when somebody has the thread.
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
  const key = lockKey(options.schema ?? "public", threadId);
  const lock = pool.heldLocks
    ? tryLocalLock(pool.heldLocks, key)
    : await tryAdvisoryLock(pool, key);
  if (!lock) throw new ThreadLockedError(threadId);
  return lock;
}

/** A 64-bit integer, all that an advisory lock knows of a thread. */
function lockKey(schema: string, threadId: string): string {
  const hash = createHash("sha256")
    .update(JSON.stringify(["thread", schema, threadId]))
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
