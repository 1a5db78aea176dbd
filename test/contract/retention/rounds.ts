import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { planRetention, runRetention } from "../../../src/engine/retention/retention-round.ts";
import { useDatabase } from "../../helpers/databases.ts";
import { idAt, setUpRetention } from "../../helpers/retention.ts";

const dayTables = ["turn", "tool_call", "llm_call", "run_event", "audit_log"] as const;

/** Rounds of retention: what they thin, archive and delete. */
export function roundsContract(kind: "pglite" | "postgres"): void {
  const database = useDatabase(kind);

  describe.skipIf(!database.available)(`rounds of retention on ${kind}`, () => {
    it("thin the checkpoints of idle threads to the ends of turns, and leave waiting threads alone", async () => {
      const subject = await setUpRetention(database);
      const { talk, ask, round, checkpoints, advanceDays } = subject;
      await talk("idle", "one");
      await talk("idle", "two");
      await ask("waits");
      const inUse = { busy: "queued", expectant: "awaiting_event" };
      for (const [thread, state] of Object.entries(inUse)) {
        await talk(thread);
        await subject.inTenant(
          `insert into stratagraph.run (id, tenant_id, instance_id, thread_id, seq, kind, request, state)
          select $1, $2, id, $3, 1, 'turn', '{}', $4 from stratagraph.agent_instance where thread_id = $3`,
          [subject.platform.tables.ids(), subject.tenantId, thread, state],
        );
      }
      const before = await checkpoints("idle");
      const others = () => Promise.all([...Object.keys(inUse), "waits"].map(checkpoints));
      const othersBefore = await others();
      advanceDays(6);
      expect((await round())?.thinned).toEqual({ threads: 0, rows: 0, bytes: 0 });
      advanceDays(2);
      const moves = await round();
      const after = await checkpoints("idle");
      expect(after).toHaveLength(2);
      expect(moves?.thinned).toMatchObject({ threads: 1, rows: before.length - 2 });
      expect(moves?.thinned.bytes).toBeGreaterThan(0);
      expect(await others()).toEqual(othersBefore);
      expect((await subject.verified("idle")).damaged).toEqual([]);
      // Those that were thinned are not looked at again.
      expect((await planRetention(subject.options()))[0]).toMatchObject({ threads_to_thin: 0 });
      expect(subject.errors).toEqual([]);
    });

    it("move whole threads into archives, in a folder of their owner alone", async () => {
      const subject = await setUpRetention(database);
      await subject.talk("old");
      await subject.ask("waits");
      subject.advanceDays(89);
      expect((await subject.round())?.archived.threads).toBe(0);
      subject.advanceDays(2);
      const calls = await subject.rows("tool_journal");
      const moves = await subject.round();
      expect(subject.errors).toEqual([]);
      expect(moves?.archived).toMatchObject({ threads: 1 });
      expect(await subject.checkpoints("old")).toEqual([]);
      expect(await subject.checkpoints("waits")).not.toEqual([]);
      expect((await subject.rows("tool_journal")).length).toBeLessThan(calls.length);
      const { items } = await subject.platform.archives.list(subject.tenantId, { threadId: "old" });
      const [archive] = items;
      expect(items).toHaveLength(1);
      expect(archive).toMatchObject({ subject: "thread", state: "archived", day: null, format: 1 });
      expect(archive?.parts[0]).toMatchObject({
        key_id: null,
        sha256: expect.stringMatching(/^[\da-f]{64}$/),
      });
      const path = join(subject.folder, subject.tenantId, archive!.id);
      expect(readdirSync(path)).toEqual(["000000.jsonl.gz"]);
      expect(statSync(subject.folder).mode & 0o777).toBe(0o700);
      expect(statSync(join(path, "000000.jsonl.gz")).size).toBe(archive?.bytes);
    });

    it("move the days of tables into archives, and drop partitions in which no tenant has a row", async () => {
      const subject = await setUpRetention(database, {
        retention: { llm_calls: { delete_after_days: "off" } },
      });
      const other = await setUpRetention(database, {
        retention: { audit: { archive_after_days: "off", delete_after_days: "off" } },
      });
      const day = new Date(Date.now() - 3 * 86_400_000);
      for (const text of ["a", "b"]) await subject.plant(text, idAt(day));
      await other.plant("c", idAt(day));
      subject.advanceDays(362);
      expect((await subject.round())?.archived.rows).toBe(2);
      subject.advanceDays(2);
      const moves = await subject.round();
      expect([moves?.archived.rows, subject.errors]).toEqual([8, []]);
      for (const table of dayTables) {
        expect([table, (await subject.rows(table)).length]).toEqual([table, 0]);
        expect([table, (await other.rows(table)).length]).toEqual([table, 1]);
      }
      const { items } = await subject.platform.archives.list(subject.tenantId);
      expect(
        items.map(({ subject: of, rows, day: on }) => `${of} ${rows} ${on}`).toSorted(),
      ).toEqual(
        dayTables.map((table) => `${table} 2 ${day.toISOString().slice(0, 10)}`).toSorted(),
      );
      const partition = `llm_call_${day.toISOString().slice(0, 10).replaceAll("-", "")}`;
      const isThere = async () => {
        const sql = `select to_regclass('stratagraph.${partition}') is not null as found`;
        return (await subject.inTenant<{ found: boolean }>(sql))[0]?.found;
      };
      expect(await isThere()).toBe(true);
      other.advanceDays(364);
      expect((await other.round())?.archived.rows).toBe(4);
      expect(await isThere()).toBe(false);
      expect(await other.rows("audit_log")).toHaveLength(1);
    });

    it("delete archives past their age, and follow the settings of a tenant", async () => {
      const retention = {
        checkpoints: { archive_after_days: 10, delete_after_days: 20 },
        llm_calls: { archive_after_days: "off", delete_after_days: 15 },
        turns: { archive_after_days: "off", delete_after_days: "off" },
      } as const;
      const subject = await setUpRetention(database, { retention });
      await subject.talk("old");
      subject.advanceDays(12);
      await subject.round();
      const { archives } = subject.platform;
      expect((await archives.list(subject.tenantId)).items).toHaveLength(1);
      expect((await subject.rows("llm_call")).length).toBeGreaterThan(0);
      subject.advanceDays(6);
      expect((await subject.round())?.deleted).toMatchObject({ rows: 2, archives: 0 });
      expect(await subject.rows("llm_call")).toEqual([]);
      subject.advanceDays(5);
      const moves = await subject.round();
      expect(moves?.deleted).toMatchObject({ archives: 1 });
      expect((await archives.list(subject.tenantId)).items).toEqual([]);
      expect(readdirSync(join(subject.folder, subject.tenantId))).toEqual([]);
      subject.advanceDays(3_000);
      await subject.round();
      expect(await subject.rows("turn")).toHaveLength(1);
      expect(subject.errors).toEqual([]);
    });

    it("delete threads without an archive where archiving is off", async () => {
      const retention = {
        checkpoints: { archive_after_days: "off", delete_after_days: 30 },
      } as const;
      const subject = await setUpRetention(database, { retention, target: () => null });
      await subject.talk("old");
      subject.advanceDays(31);
      expect((await subject.round())?.deleted).toMatchObject({ threads: 1 });
      expect([await subject.checkpoints("old"), await subject.rows("tool_journal")]).toEqual([
        [],
        [],
      ]);
    });

    it("keep everything in the database without a place for archives", async () => {
      const subject = await setUpRetention(database, { target: () => null });
      await subject.talk("old");
      await subject.plant("kept");
      subject.advanceDays(3_000);
      const moves = await subject.round();
      expect(moves).toMatchObject({ archived: { rows: 0 }, deleted: { rows: 0 }, failures: 0 });
      expect((await subject.checkpoints("old")).length).toBe(1);
      expect((await subject.rows("audit_log")).length).toBe(1);
    });

    it("count what they would do, and change nothing", async () => {
      const subject = await setUpRetention(database);
      await subject.talk("old");
      await subject.plant("row");
      subject.advanceDays(400);
      const before = await subject.rows("turn");
      const [plan] = await planRetention(subject.options());
      expect(plan).toEqual({
        tenantId: subject.tenantId,
        threads_to_thin: 1,
        threads_to_archive: 1,
        days_to_archive: 5,
        archives_to_delete: 0,
      });
      expect(await subject.rows("turn")).toEqual(before);
      expect((await subject.platform.archives.list(subject.tenantId)).items).toEqual([]);
    });

    it("are done by one process at a time", async () => {
      const subject = await setUpRetention(database);
      const rounds = await Promise.all([
        runRetention(subject.options()),
        runRetention(subject.options()),
      ]);
      expect(rounds.filter((round) => round === null)).toHaveLength(1);
      expect(await runRetention(subject.options())).not.toBeNull();
    });

    it("leave a thread that changes while it is archived, and archive it when it is idle again", async () => {
      let change = async () => {};
      const subject = await setUpRetention(database, {
        target: (folder) => ({
          put: async (key, bytes) => {
            await change();
            change = async () => {};
            await folder.put(key, bytes);
          },
          get: (key, most) => folder.get(key, most),
          remove: (of) => folder.remove(of),
        }),
        retention: { llm_calls: { archive_after_days: "off", delete_after_days: "off" } },
      });
      await subject.talk("old");
      subject.advanceDays(91);
      change = async () => void (await subject.talk("old", "again"));
      expect((await subject.round())?.archived).toMatchObject({ threads: 0 });
      const ofThread = { subject: "thread" } as const;
      expect((await subject.platform.archives.list(subject.tenantId, ofThread)).items).toEqual([]);
      expect(readdirSync(join(subject.folder, subject.tenantId))).toEqual([]);
      expect((await subject.verified("old")).damaged).toEqual([]);
      expect(await subject.exported("old")).toEqual(
        expect.arrayContaining([expect.stringContaining("again")]),
      );
      expect((await subject.round())?.archived).toMatchObject({ threads: 1 });
    });

    it("leave a row that changes while its day is archived, and archive it again", async () => {
      let change = async () => {};
      const subject = await setUpRetention(database, {
        target: (folder) => ({
          put: async (key, bytes) => {
            await change();
            change = async () => {};
            await folder.put(key, bytes);
          },
          get: (key, most) => folder.get(key, most),
          remove: (of) => folder.remove(of),
        }),
        retention: { turns: { archive_after_days: 1 } },
      });
      await subject.plant("early");
      change = async () =>
        void (await subject.inTenant("update stratagraph.turn set status = 'late'"));
      subject.advanceDays(3);
      await subject.round();
      const { items } = await subject.platform.archives.list(subject.tenantId, { subject: "turn" });
      // The row as it is now is in the newer one.
      expect(items.map(({ rows }) => rows)).toEqual([1, 1]);
      expect(await subject.rows("turn")).toEqual([]);
    });
  });
}
