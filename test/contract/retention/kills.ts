import { readdirSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { restoreDay, restoreThread } from "../../../src/engine/retention/restore.ts";
import type { ArchiveTarget } from "../../../src/storage/retention/archive-target.ts";
import { useDatabase } from "../../helpers/databases.ts";
import { faultyPool } from "../../helpers/faulty-pool.ts";
import { seededRandom } from "../../helpers/random.ts";
import { idAt, type RetentionSubject, setUpRetention } from "../../helpers/retention.ts";

const day = new Date(Date.now() - 86_400_000 * 7);
const dayText = day.toISOString().slice(0, 10);

/** Rounds and restores that end in the middle: at any statement, and at any use of the archive. */
export function killsContract(kind: "pglite" | "postgres"): void {
  const database = useDatabase(kind);
  /** From one point at which work ends to the next that is tried. The seed draws the first: each is tried in some run. */
  const stride = Number(process.env["KILL_STRIDE"] ?? 149);
  const random = seededRandom(`killed rounds on ${kind}`);
  const points = (count: number, step: number) => {
    const first = random.int(1, Math.min(step, count) + 1);
    return Array.from(
      { length: Math.ceil((count - first + 1) / step) },
      (_, n) => first + n * step,
    );
  };

  /** A tenant with a thread and three rows of a table, whose work a test can end. */
  const setUp = async () => {
    const pool = faultyPool(database.shared.pool);
    const uses = { count: 0, killAt: 0 };
    const step = <T>(work: () => Promise<T>): Promise<T> => {
      uses.count += 1;
      // The connections are lost with the process.
      if (uses.count === uses.killAt) pool.arm(1, "before");
      return work();
    };
    const target = (folder: ArchiveTarget): ArchiveTarget => ({
      put: (key, bytes) => step(() => folder.put(key, bytes)),
      get: (key, most) => step(() => folder.get(key, most)),
      remove: (of) => step(() => folder.remove(of)),
    });
    const off = { archive_after_days: "off", delete_after_days: "off" } as const;
    const retention = {
      turns: off,
      tool_calls: off,
      llm_calls: { delete_after_days: "off" },
      events: off,
      audit: off,
    } as const;
    const subject = await setUpRetention(database, {
      pool,
      target,
      retention: {
        ...retention,
        checkpoints: { thin_after_days: "off", delete_after_days: "off" },
      },
    });
    await subject.talk("old");
    for (const text of ["a", "b", "c"]) await subject.plant(text, idAt(day));
    await subject.inTenant(
      "delete from stratagraph.llm_call where at > $1::timestamptz + interval '2 days'",
      [day],
    );
    subject.advanceDays(91);
    return { subject, pool, uses };
  };

  /** Where the rows and the thread are. */
  const placesOf = async ({ platform, tenantId, rows, checkpoints }: RetentionSubject) => {
    const archives = await platform.archives.find(tenantId, {});
    const archived = archives.filter(({ state }) => state === "archived");
    const rowsIn = archived
      .filter(({ subject }) => subject === "llm_call")
      .reduce((sum, one) => sum + one.rows, 0);
    return {
      rows: { database: (await rows("llm_call")).length, archived: rowsIn },
      thread: {
        database: (await checkpoints("old")).length > 0,
        calls: (await rows("tool_journal")).length,
        archived: archived.filter(({ subject }) => subject === "thread").length,
      },
      unfinished:
        archives.length -
        archived.length -
        archives.filter(({ state }) => state === "restored").length,
    };
  };
  /** Does the round after a kill, once the server has ended the session that held the lock. */
  const nextRound = async (subject: RetentionSubject) => {
    await expect.poll(() => subject.round()).not.toBeUndefined();
  };
  const inArchive = {
    rows: { database: 0, archived: 3 },
    thread: { database: false, calls: 0, archived: 1 },
    unfinished: 0,
  };
  const objectsOf = ({ folder }: RetentionSubject) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".gz"),
    );

  describe.skipIf(!database.available)(`killed rounds on ${kind}`, { timeout: 1_800_000 }, () => {
    it.each(["before", "after"] as const)(
      "lose nothing and keep nothing twice, killed %s any statement",
      async (when) => {
        const whole = await setUp();
        whole.pool.arm(0, when);
        await whole.subject.round();
        expect(whole.subject.errors).toEqual([]);
        const { statements } = whole.pool;
        expect(statements).toBeGreaterThan(30);
        for (const at of points(statements, stride)) {
          const { subject, pool } = await setUp();
          pool.arm(at, when);
          await subject.round().catch(() => undefined);
          pool.arm(0, when);
          subject.errors.length = 0;
          await nextRound(subject);
          expect({ at, ...(await placesOf(subject)), errors: subject.errors }).toEqual({
            at,
            ...inArchive,
            errors: [],
          });
          expect([at, objectsOf(subject).length]).toEqual([at, 2]);
        }
      },
    );

    it("lose nothing and keep nothing twice, killed at any use of the archive", async () => {
      const whole = await setUp();
      await whole.subject.round();
      for (const at of points(whole.uses.count, Math.min(stride, 3))) {
        const { subject, pool, uses } = await setUp();
        [uses.count, uses.killAt] = [0, at];
        await subject.round().catch(() => undefined);
        uses.killAt = 0;
        pool.arm(0, "before");
        subject.errors.length = 0;
        await nextRound(subject);
        expect({ at, ...(await placesOf(subject)), errors: subject.errors }).toEqual({
          at,
          ...inArchive,
          errors: [],
        });
        expect([at, objectsOf(subject).length]).toEqual([at, 2]);
      }
    });

    it("restore all or nothing, killed before any statement of a restore", async () => {
      const counts = await setUp();
      await counts.subject.round();
      const restore = async ({ platform, clock, tenantId, useServices }: RetentionSubject) => {
        const of = { platform, clock, tenantId, useServices };
        await restoreThread({ ...of, threadId: "old" });
        await restoreDay({ ...of, table: "llm_call", day: dayText });
      };
      counts.pool.arm(0, "before");
      await restore(counts.subject);
      const { statements } = counts.pool;
      const back = await placesOf(counts.subject);
      expect(back).toMatchObject({
        rows: { database: 3, archived: 0 },
        thread: { database: true, calls: 1, archived: 0 },
      });
      for (const at of points(statements, stride)) {
        const { subject, pool } = await setUp();
        await subject.round();
        pool.arm(at, "before");
        await restore(subject).catch(() => undefined);
        pool.arm(0, "before");
        await nextRound(subject);
        const { rows, thread, unfinished } = await placesOf(subject);
        expect({ at, errors: subject.errors, unfinished }).toEqual({
          at,
          errors: [],
          unfinished: 0,
        });
        expect([at, rows.database + rows.archived]).toEqual([at, 3]);
        expect([at, rows.database === 0 || rows.archived === 0]).toEqual([at, true]);
        expect([at, thread.database ? thread.calls : thread.archived]).toEqual([at, 1]);
        expect([at, thread.database && thread.archived > 0]).toEqual([at, false]);
        const verified = thread.database ? await subject.verified("old") : { damaged: [] };
        expect([at, verified.damaged]).toEqual([at, []]);
      }
    });
  });
}
