import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { openDatabase, type Database } from "../../src/storage/database.ts";
import { DatabaseUnavailableError } from "../../src/storage/errors.ts";
import { type HeldLock, lockThread, ThreadLockedError } from "../../src/storage/thread-lock.ts";
import { threadLockContract } from "../contract/thread-lock-contract.ts";
import { useChildren } from "../helpers/child-process.ts";
import { useDatabase } from "../helpers/databases.ts";

const database = useDatabase("postgres");
const start = useChildren();

threadLockContract(database);

/** Takes a lock once its holder has gone, and gives it back. */
async function takeEventually(opened: Database, threadId: string): Promise<void> {
  let lock: HeldLock | undefined;
  const attempt = async () => (lock ??= await lockThread(opened, threadId).catch(() => undefined));
  await expect.poll(attempt).toBeDefined();
  expect(lock?.signal.aborted).toBe(false);
  await lock?.release();
}

describe.skipIf(!database.available)("a thread's lock on a server", () => {
  const sessionsWithLocks = async () => {
    const { rows } = await database.shared.pool.query<{ pid: number }>(
      `select distinct pid from pg_locks where locktype = 'advisory' and granted
        and database = (select oid from pg_database where datname = current_database())`,
    );
    return rows.map(({ pid }) => pid);
  };

  test("keeps another process out until it is given back", async () => {
    const { url } = database.options;
    const lock = await lockThread(database.shared, "shared");
    const refused = start("test/storage/programs/lock-thread.ts", url!, "shared");
    expect(await refused.nextLine()).toBe("thread_locked");
    await lock.release();
    const holder = start("test/storage/programs/lock-thread.ts", url!, "shared");
    expect(await holder.nextLine()).toBe("locked");
    await expect(lockThread(database.shared, "shared")).rejects.toThrow(ThreadLockedError);
    holder.end();
    expect(await holder.nextLine()).toBe("released");
    await (await lockThread(database.shared, "shared")).release();
  });

  test("ends with a process that is killed", async () => {
    const holder = start("test/storage/programs/lock-thread.ts", database.options.url!, "orphan");
    expect(await holder.nextLine()).toBe("locked");
    await expect(lockThread(database.shared, "orphan")).rejects.toThrow(ThreadLockedError);
    await holder.kill();
    await takeEventually(database.shared, "orphan");
  });

  test("tells its holders when its session is lost, and can be taken again", async () => {
    const other = await openDatabase(database.options);
    const locks = [await lockThread(other, "x"), await lockThread(other, "y")];
    const [pid, ...more] = await sessionsWithLocks();
    expect(more).toEqual([]);
    const aborted = locks.map((lock) => once(lock.signal, "abort"));
    await database.shared.pool.query("select pg_terminate_backend($1)", [pid]);
    await Promise.all(aborted);
    for (const lock of locks) {
      expect(lock.signal.reason).toBeInstanceOf(DatabaseUnavailableError);
      await lock.release();
    }
    // The server tells of the end of a session before it lets go of its locks.
    await takeEventually(other, "x");
    await takeEventually(other, "y");
    await other.close();
  });

  test("leaves no session behind once all are given back", async () => {
    const locks = [await lockThread(database.shared, "x"), await lockThread(database.shared, "y")];
    expect(await sessionsWithLocks()).toHaveLength(1);
    for (const lock of locks) await lock.release();
    expect(await sessionsWithLocks()).toEqual([]);
  });

  test("is not ended by the server for being quiet, and leaves the session as it was", async () => {
    const url = new URL(database.options.url!);
    url.searchParams.set("options", "-c idle_session_timeout=1000");
    const other = await openDatabase({ ...database.options, url: url.toString() });
    const lock = await lockThread(other, "quiet");
    await database.shared.pool.query("select pg_sleep(1.2)");
    expect(lock.signal.aborted).toBe(false);
    await expect(lockThread(database.shared, "quiet")).rejects.toThrow(ThreadLockedError);
    await lock.release();
    const { rows } = await other.pool.query("select current_setting('idle_session_timeout') as ms");
    expect(rows).toEqual([{ ms: "1s" }]);
    await other.close();
  });

  test("says why there is no session to hold it, and works when there is", async () => {
    const narrow = await openDatabase({
      ...database.options,
      maxConnections: 1,
      connectTimeoutMs: 2_000,
    });
    const client = await narrow.pool.connect();
    const attempts = [lockThread(narrow, "x"), lockThread(narrow, "y")];
    for (const attempt of attempts)
      await expect(attempt).rejects.toMatchObject({ code: "database_busy", sessions: 1 });
    client.release();
    await (await lockThread(narrow, "x")).release();
    await narrow.close();
  });
});
