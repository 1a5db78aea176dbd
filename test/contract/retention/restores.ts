import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  restoreDay,
  type RestoreOptions,
  restoreThread,
} from "../../../src/engine/retention/restore.ts";
import { partitionedTables } from "../../../src/storage/platform/partitions.ts";
import {
  ConflictError,
  InvalidValueError,
  NotFoundError,
} from "../../../src/storage/platform/errors.ts";
import { timeOfId } from "../../../src/storage/platform/checks.ts";
import { openS3Target } from "../../../src/storage/retention/s3-target.ts";
import { Archives } from "../../../src/storage/retention/archives.ts";
import {
  createValueCipher,
  MissingEncryptionKeyError,
  sealedKeyId,
} from "../../../src/storage/encryption/value-cipher.ts";
import { useDatabase } from "../../helpers/databases.ts";
import { lampPng } from "../../helpers/attachments.ts";
import { startS3Server } from "../../helpers/s3-server.ts";
import { idAt, type RetentionSubject, setUpRetention } from "../../helpers/retention.ts";

/** What comes back from archives. */
export function restoresContract(kind: "pglite" | "postgres"): void {
  const database = useDatabase(kind);
  const restoring = (subject: RetentionSubject, more: Partial<RestoreOptions> = {}) => ({
    ...subject.options(),
    tenantId: subject.tenantId,
    ...more,
  });
  /** The lines of a thread, without the time of the export and its hash. */
  const contentOf = async (subject: RetentionSubject, threadId: string) =>
    (await subject.exported(threadId)).slice(1, -1);
  /** Numbers of logs are the database's, and a checkpoint's hash covers them. */
  const withoutLogs = (lines: readonly string[]) =>
    lines.map((line) =>
      line
        .replace(/"log":\d+/, "")
        .replace(/"segments":\[[\d,]*\]/, "")
        .replace(/"hash":"[\da-f]{64}","parentHash"/, ""),
    );
  describe.skipIf(!database.available)(`restores on ${kind}`, () => {
    it("bring a thread back with its checkpoints, attachments and calls, and verify it", async () => {
      const subject = await setUpRetention(database);
      await subject.talk("old", "one");
      await subject.talk("old", "two");
      await subject.useRuntime(async ({ blobs }) => {
        await blobs?.put("old", { bytes: lampPng, mimeType: "image/png" });
      });
      subject.advanceDays(8);
      await subject.round();
      const tables = [
        "checkpoints",
        "tool_journal",
        "attachment_uses",
        "attachments",
        "checkpoint_write_sets",
      ];
      const read = async () =>
        Promise.all(tables.map(async (table) => (await subject.rows(table)).length));
      const [lines, calls, counts] = [
        await contentOf(subject, "old"),
        await subject.rows("tool_journal"),
        await read(),
      ];
      expect(counts[1]).toBe(2);
      subject.advanceDays(83);
      await subject.round();
      expect(subject.errors).toEqual([]);
      expect((await read()).slice(0, 4)).toEqual([0, 0, 0, 0]);
      const restored = await restoreThread({ ...restoring(subject), threadId: "old" });
      expect(restored.rows).toBe(4);
      expect(withoutLogs(await contentOf(subject, "old"))).toEqual(withoutLogs(lines));
      expect(await subject.rows("tool_journal")).toEqual(calls);
      expect(await read()).toEqual(counts);
      expect(await subject.verified("old")).toEqual({ checked: 2, damaged: [] });
      // It goes on where it ended.
      expect((await subject.talk("old", "three")).status).toBe("COMPLETED");
    });

    it("bring a thread and a day back from a bucket", async () => {
      const server = await startS3Server({
        bucket: "kept",
        accessKeyId: "key",
        secretAccessKey: "secret",
      });
      onTestFinished(() => server.close());
      const location = `s3://kept/all?endpoint=${encodeURIComponent(server.endpoint)}`;
      const target = openS3Target(location, {
        AWS_ACCESS_KEY_ID: "key",
        AWS_SECRET_ACCESS_KEY: "secret",
      });
      const subject = await setUpRetention(database, { target: () => target });
      const then = new Date(Date.now() - 86_400_000 * 7);
      await subject.talk("old");
      await subject.plant("row", idAt(then));
      const rows = await subject.rows("llm_call");
      subject.advanceDays(98);
      await subject.round();
      expect([subject.errors, await subject.rows("llm_call")]).toEqual([[], []]);
      expect(server.objects.size).toBe(3);
      await restoreThread({ ...restoring(subject), threadId: "old" });
      for (const day of [then, new Date()].map((time) => time.toISOString().slice(0, 10)))
        await restoreDay({ ...restoring(subject), table: "llm_call", day });
      expect(await subject.rows("llm_call")).toEqual(rows);
      expect((await subject.verified("old")).damaged).toEqual([]);
      expect([...server.objects.keys()]).toEqual([]);
    });

    it("refuse to overwrite what is there", async () => {
      const subject = await setUpRetention(database);
      await subject.talk("old", "one");
      subject.advanceDays(91);
      await subject.round();
      await subject.talk("old", "new");
      const lines = await contentOf(subject, "old");
      await expect(restoreThread({ ...restoring(subject), threadId: "old" })).rejects.toThrow(
        ConflictError,
      );
      expect(await contentOf(subject, "old")).toEqual(lines);
      const id = await subject.plant("row", idAt(new Date(Date.now() - 86_400_000 * 5)));
      subject.advanceDays(400);
      await subject.round();
      const day = new Date(Date.now() - 86_400_000 * 5).toISOString().slice(0, 10);
      await subject.plant("other", id);
      const before = await subject.rows("turn");
      const of = { ...restoring(subject), table: "turn", day } as const;
      await expect(restoreDay(of)).rejects.toThrow(ConflictError);
      expect(await subject.rows("turn")).toEqual(before);
      await subject.inTenant("delete from stratagraph.turn where id = $1", [id]);
      expect(await restoreDay(of)).toMatchObject({ rows: 1 });
      await expect(restoreDay(of)).rejects.toThrow(NotFoundError);
      await expect(restoreThread({ ...restoring(subject), threadId: "none" })).rejects.toThrow(
        NotFoundError,
      );
    });

    it.each(partitionedTables)(
      "bring the rows of a day of %s back byte for byte",
      async (table) => {
        const subject = await setUpRetention(database);
        const then = new Date(Date.now() - 86_400_000 * 7);
        const day = then.toISOString().slice(0, 10);
        for (const text of ["a \u2028 \uFFFF", "b"]) await subject.plant(text, idAt(then));
        const rows = await subject.rows(table);
        expect(rows).toHaveLength(2);
        subject.advanceDays(table === "llm_call" ? 91 : 366);
        await subject.round();
        expect(await subject.rows(table)).toEqual([]);
        const restored = await restoreDay({ ...restoring(subject), table, day });
        expect([restored.archives, restored.rows]).toEqual([1, 2]);
        expect(await subject.rows(table)).toEqual(rows);
        expect(subject.errors).toEqual([]);
      },
    );

    it("hold what they brought back for some days, then it is archived again", async () => {
      const off = { delete_after_days: "off" } as const;
      const subject = await setUpRetention(database, {
        retention: { checkpoints: off, llm_calls: off },
      });
      const then = new Date(Date.now() - 86_400_000 * 7);
      await subject.talk("old");
      await subject.plant("row", idAt(then));
      subject.advanceDays(366);
      await subject.round();
      expect(subject.errors).toEqual([]);
      const day = then.toISOString().slice(0, 10);
      const objects = () =>
        readdirSync(subject.folder, { recursive: true, encoding: "utf8" }).filter((name) =>
          name.endsWith(".gz"),
        );
      const before = objects().length;
      await restoreThread({ ...restoring(subject, { holdDays: 3 }), threadId: "old" });
      await restoreDay({ ...restoring(subject, { holdDays: 3 }), table: "turn", day });
      // The objects are removed with what was restored.
      expect(objects()).toHaveLength(before - 2);
      subject.advanceDays(2);
      expect((await subject.round())?.archived).toMatchObject({ threads: 0, rows: 0 });
      subject.advanceDays(2);
      const moves = await subject.round();
      expect(moves?.archived).toMatchObject({ threads: 1 });
      expect(await subject.checkpoints("old")).toEqual([]);
      const { items } = await subject.platform.archives.list(subject.tenantId, {
        states: ["restored"],
      });
      expect(items).toEqual([]);
      await expect(
        restoreThread({ ...restoring(subject, { holdDays: 0 }), threadId: "old" }),
      ).rejects.toThrow(InvalidValueError);
    });

    it("change nothing for an object that was changed, cut off or removed", async () => {
      const subject = await setUpRetention(database);
      await subject.talk("old");
      subject.advanceDays(91);
      await subject.round();
      const [archive] = (
        await subject.platform.archives.list(subject.tenantId, { subject: "thread" })
      ).items;
      const path = join(subject.folder, subject.tenantId, archive!.id, "000000.jsonl.gz");
      const bytes = readFileSync(path);
      const changed = Buffer.from(bytes);
      changed[40]! ^= 1;
      for (const damaged of [changed, bytes.subarray(0, -1), Buffer.concat([bytes, bytes])]) {
        writeFileSync(path, damaged);
        const attempt = restoreThread({ ...restoring(subject), threadId: "old" });
        await expect(attempt).rejects.toThrow(/damaged|more than/);
        expect(await subject.checkpoints("old")).toEqual([]);
      }
      writeFileSync(path, bytes);
      expect(
        (await restoreThread({ ...restoring(subject), threadId: "old" })).rows,
      ).toBeGreaterThan(0);
    });

    it("change nothing for an object whose lines are others of the same length", async () => {
      const retention = { turns: { archive_after_days: 1 } };
      const subject = await setUpRetention(database, { retention });
      const then = new Date(Date.now() - 86_400_000 * 7);
      await subject.plant("planted", idAt(then));
      await subject.round();
      const [archive] = (
        await subject.platform.archives.list(subject.tenantId, { subject: "turn" })
      ).items;
      const path = join(subject.folder, subject.tenantId, archive!.id, "000000.jsonl.gz");
      const text = gunzipSync(readFileSync(path)).toString();
      const others = ["plantee", "plantea", "plantel", "plantet"].map((word) =>
        gzipSync(text.replaceAll("planted", word), { level: 9 }),
      );
      const forged = others.find(({ byteLength }) => byteLength <= archive!.bytes);
      expect(forged).toBeDefined();
      writeFileSync(path, forged!);
      const day = then.toISOString().slice(0, 10);
      const attempt = restoreDay({ ...restoring(subject), table: "turn", day });
      await expect(attempt).rejects.toThrow("it does not have the SHA-256 of its manifest");
      expect(await subject.rows("turn")).toEqual([]);
    });

    it("open archives that a key has sealed, each in its own place alone", async () => {
      const key = { id: "2026", key: Buffer.alloc(32, 5) };
      const encryptionKeys = `2026:${key.key.toString("base64")}`;
      const subject = await setUpRetention(database, {
        cipher: createValueCipher([key]),
        encryptionKeys,
      });
      await subject.talk("old", "a secret message");
      await subject.talk("second", "another message");
      subject.advanceDays(91);
      await subject.round();
      expect(subject.errors).toEqual([]);
      const { items } = await subject.platform.archives.list(subject.tenantId, {
        subject: "thread",
      });
      const [second, first] = items;
      const pathOf = (id = "") => join(subject.folder, subject.tenantId, id, "000000.jsonl.gz");
      const bytes = readFileSync(pathOf(first?.id));
      expect(sealedKeyId(bytes)).toBe("2026");
      expect(first?.parts[0]?.key_id).toBe("2026");
      // Manifest and object of another archive together: only the key knows.
      await subject.inTenant(
        "update stratagraph.archive set parts = (select parts from stratagraph.archive where id = $1) where id = $2",
        [second?.id, first?.id],
      );
      writeFileSync(pathOf(first?.id), readFileSync(pathOf(second?.id)));
      const of = { ...restoring(subject), threadId: first?.threadId ?? "" };
      await expect(restoreThread(of)).rejects.toThrow("the authentication failed");
      const { platform } = subject;
      const { target } = platform.archives;
      const withoutKey = {
        ...platform,
        archives: new Archives(platform.tables, createValueCipher([]), target),
      };
      const ofSecond = { ...restoring(subject), threadId: second?.threadId ?? "" };
      const attempt = restoreThread({ ...ofSecond, platform: withoutKey });
      await expect(attempt).rejects.toThrow(MissingEncryptionKeyError);
      await restoreThread({ ...restoring(subject), threadId: second?.threadId ?? "" });
      expect((await subject.verified(second?.threadId ?? "")).damaged).toEqual([]);
    });

    it("bring a row back as it was last, where it was archived twice", async () => {
      const subject = await setUpRetention(database, {
        retention: { turns: { archive_after_days: 1 } },
      });
      const then = new Date(Date.now() - 86_400_000 * 7);
      const id = await subject.plant("first", idAt(then));
      await subject.round();
      await subject.platform.partitions.ensureDay(then.toISOString().slice(0, 10));
      await subject.inTenant(
        `insert into stratagraph.turn (at, id, tenant_id, instance_id, turn_number, status) values ($1, $2, $3, $2, 1, 'second')`,
        [timeOfId(id), id, subject.tenantId],
      );
      await subject.round();
      const day = then.toISOString().slice(0, 10);
      const restored = await restoreDay({ ...restoring(subject), table: "turn", day });
      expect([restored.archives, restored.rows]).toEqual([2, 1]);
      expect(await subject.rows("turn")).toEqual([expect.stringContaining("second")]);
    });
  });
}
