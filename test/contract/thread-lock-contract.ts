import { describe, expect, test } from "vitest";
import { lockThread, ThreadLockedError } from "../../src/storage/thread-lock.ts";
import type { TestDatabase } from "../helpers/databases.ts";

/** What the lock of a thread does, on every database. */
export function threadLockContract(database: TestDatabase): void {
  describe.skipIf(!database.available)(`a thread's lock on ${database.kind}`, () => {
    test("has one holder at a time, through one pool or through two", async () => {
      const other = await database.open();
      const lock = await lockThread(database.shared, "a");
      for (const late of [database.shared, other]) {
        await expect(lockThread(late, "a")).rejects.toThrow(ThreadLockedError);
        await expect(lockThread(late, "a")).rejects.toMatchObject({
          code: "thread_locked",
          kind: "run",
          threadId: "a",
        });
      }
      await lock.release();
      const next = await lockThread(other, "a");
      await expect(lockThread(database.shared, "a")).rejects.toThrow(ThreadLockedError);
      await next.release();
      expect(lock.signal.aborted).toBe(false);
    });

    test("keeps out those who would share it while it is not shared, and the other way round", async () => {
      const other = await database.open();
      for (const isShared of [true, false]) {
        const lock = await lockThread(database.shared, "a", { isShared });
        await expect(lockThread(other, "a", { isShared: !isShared })).rejects.toThrow(
          ThreadLockedError,
        );
        await lock.release();
      }
    });

    // An embedded database is open in one process: no other one can be frozen.
    test.skipIf(database.kind === "pglite")(
      "is held by several claims of a run at once",
      async () => {
        const other = await database.open();
        const frozen = await lockThread(database.shared, "a", { isShared: true });
        const claimed = await lockThread(other, "a", { isShared: true });
        await frozen.release();
        await expect(lockThread(database.shared, "a")).rejects.toThrow(ThreadLockedError);
        await claimed.release();
        await (await lockThread(database.shared, "a")).release();
      },
    );

    test("is given back once: a second release leaves the next holder alone", async () => {
      const first = await lockThread(database.shared, "a");
      await Promise.all([first.release(), first.release()]);
      const second = await lockThread(database.shared, "a");
      await first.release();
      await expect(lockThread(database.shared, "a")).rejects.toThrow(ThreadLockedError);
      await second.release();
    });

    test("keeps threads apart, and the schemas they are in", async () => {
      const locks = await Promise.all([
        lockThread(database.shared, "a"),
        lockThread(database.shared, "b"),
        lockThread(database.shared, "a", { schema: "other" }),
      ]);
      expect(locks.map((lock) => lock.signal.aborted)).toEqual([false, false, false]);
      await Promise.all(locks.map((lock) => lock.release()));
    });

    test("goes to one of many who want it at once", async () => {
      const other = await database.open();
      const attempts = await Promise.allSettled(
        Array.from({ length: 20 }, (_, i) => lockThread(i % 2 ? other : database.shared, "a")),
      );
      const [lock, ...more] = attempts.filter((attempt) => attempt.status === "fulfilled");
      expect(more).toEqual([]);
      await lock!.value.release();
    });

    test("costs no more sessions for 200 threads than for one", async () => {
      const threads = Array.from({ length: 200 }, (_, i) => `thread ${i}`);
      for (let round = 0; round < 2; round += 1) {
        const locks = await Promise.all(threads.map((id) => lockThread(database.shared, id)));
        await expect(lockThread(database.shared, "thread 99")).rejects.toThrow(ThreadLockedError);
        expect((await database.shared.pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
        await Promise.all(locks.map((lock) => lock.release()));
      }
    });
  });
}
