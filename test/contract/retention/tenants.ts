import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { systemIds } from "../../../src/clock.ts";
import { openDatabaseMemory } from "../../../src/storage/memory/database-memory.ts";
import { openPlatform } from "../../../src/storage/platform/open-platform.ts";
import { InvalidValueError } from "../../../src/storage/platform/errors.ts";
import type { RetentionSettings } from "../../../src/storage/retention/policy.ts";
import { NoArchiveTargetError } from "../../../src/storage/retention/archives.ts";
import { createValueCipher } from "../../../src/storage/encryption/value-cipher.ts";
import { withAllTenants } from "../../../src/storage/tenant.ts";
import { useDatabase } from "../../helpers/databases.ts";
import { idAt, type RetentionSubject, setUpRetention } from "../../helpers/retention.ts";

/** The archives of a tenant as a part of it: exported and deleted with it. */
export function archivedTenantsContract(kind: "pglite" | "postgres"): void {
  const database = useDatabase(kind);
  const word = `planted${systemIds().replaceAll("-", "")}`;

  /** Archives of all kinds are there after a year. */
  const retention = {
    checkpoints: { delete_after_days: "off" },
    llm_calls: { delete_after_days: "off" },
  } as const;

  /** A tenant with the word everywhere, in the database and in archives. */
  const plantEverywhere = async (subject: RetentionSubject) => {
    const { platform, tenantId: id, talk, plant, useRuntime } = subject;
    await talk(`${word} thread`, `${word} message`);
    await useRuntime(async ({ blobs }) => {
      const bytes = Buffer.from(`${word} file`);
      await blobs?.put(`${word} later`, { bytes, mimeType: "text/plain" });
      await blobs?.put(`${word} thread`, { bytes, mimeType: "text/plain" });
    });
    await openDatabaseMemory(database.shared, { vectors: "scan" })
      .forTenant(id)
      .add([{ namespace: ["agents", word], content: `${word} memory` }]);
    const { id: definitionId, agentId } = await platform.agents.create(id, {
      name: word,
      definition: { word },
    });
    const { id: instanceId } = await platform.instances.create(id, {
      threadId: `${word} 2`,
      agent: word,
      definitionId,
    });
    await platform.apiKeys.create({ tenantId: id, name: word, scopes: ["*"] });
    await platform.runs.create(id, { instanceId, request: { word }, metadata: { word } });
    const { id: toolId } = await platform.tools.create(id, { name: word, definition: { word } });
    await platform.tools.bind(id, { agentId, toolId, overrides: { description: word } });
    await platform.secrets.set(id, { name: "SECRET", value: `${word} secret` });
    await platform.webhooks.create(id, { url: `https://${word}.com`, events: ["*"] });
    await platform.webhooks.enqueue(id, { event: word, body: { word } });
    await platform.idempotency.begin(id, {
      key: word,
      attempt: systemIds(),
      requestHash: Buffer.alloc(32),
    });
    await platform.usage.add(id, { requests: 1 });
    await plant(`${word} row`, idAt(new Date(Date.now() - 86_400_000 * 7)));
    subject.advanceDays(91);
    await subject.round();
    subject.advanceDays(275);
    await subject.round();
    expect(subject.errors).toEqual([]);
    // Rows that are not archived yet.
    await talk(`${word} later`, `${word} later`);
    await plant(`${word} later`);
  };

  /** Finds a text in all tables of the database, in the rows of every tenant. */
  const tablesWith = async ({ platform }: RetentionSubject, texts: readonly string[]) =>
    withAllTenants(database.shared.pool, async (client) => {
      const { rows: tables } = await client.query<{ name: string }>(
        `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.relkind in ('r', 'p') and not c.relispartition and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname !~ '^pg_toast'`,
      );
      expect(tables.length).toBeGreaterThan(30);
      expect(tables.map(({ name }) => name)).toContain(
        `${platform.tables.schema.replaceAll('"', "")}.archive`,
      );
      const found: string[] = [];
      for (const { name } of tables) {
        for (const text of texts) {
          const { rows } = await client.query(
            `select from ${name} t where strpos(t::text, $1) > 0 or strpos(t::text, encode(convert_to($1, 'UTF8'), 'hex')) > 0 limit 1`,
            [text],
          );
          if (rows.length > 0) found.push(`${name} has ${text}`);
        }
      }
      return found;
    });
  const filesOf = (folder: string) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".gz"),
    );

  describe.skipIf(!database.available)(`archives of tenants on ${kind}`, () => {
    it("are deleted with the tenant: no table and no object has its ids or texts", async () => {
      const subject = await setUpRetention(database, { retention });
      const other = await setUpRetention(database, {
        target: () => subject.platform.archives.target,
      });
      await other.talk("kept");
      other.advanceDays(91);
      await other.round();
      await plantEverywhere(subject);
      const texts = [word, subject.tenantId];
      const before = await tablesWith(subject, texts);
      for (const table of [
        "checkpoint_elements",
        "turn",
        "llm_call",
        "archive",
        "webhook_delivery",
        "memory_entry",
        "attachments",
        "run",
        "secret",
      ])
        expect(before).toEqual(
          expect.arrayContaining([expect.stringMatching(`^stratagraph\\.${table} has `)]),
        );
      const archived = filesOf(subject.folder).map((name) =>
        gunzipSync(readFileSync(join(subject.folder, name))).toString(),
      );
      for (const text of [`${word} message`, `${word} row`])
        expect(archived.join("")).toContain(text);
      const deleted = await subject.platform.tenantRows.delete(subject.tenantId);
      expect([deleted["tenant"], deleted["archive"]]).toEqual([1, expect.any(Number)]);
      expect(await tablesWith(subject, texts)).toEqual([]);
      const files = filesOf(subject.folder);
      expect(files.filter((name) => !name.startsWith(other.tenantId))).toEqual([]);
      expect(files.length).toBeGreaterThan(0);
      for (const name of files)
        expect(gunzipSync(readFileSync(join(subject.folder, name))).toString()).not.toContain(word);
      expect(readdirSync(subject.folder)).toEqual([other.tenantId]);
    });

    it("are exported with the tenant, sealed values opened", async () => {
      const key = { id: "2026", key: Buffer.alloc(32, 5) };
      const subject = await setUpRetention(database, {
        retention,
        cipher: createValueCipher([key]),
        encryptionKeys: `2026:${key.key.toString("base64")}`,
      });
      await plantEverywhere(subject);
      const lines: string[] = [];
      await subject.platform.tenantRows.export(
        subject.tenantId,
        async (line) => void lines.push(line),
      );
      const parsed = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      const archived = parsed.filter((line) => "archive" in line);
      expect(
        archived.some((line) => JSON.stringify(line["thread"] ?? "").includes(`${word} message`)),
      ).toBe(true);
      const tables = new Set(archived.map((line) => line["table"]));
      expect([...tables]).toEqual(
        expect.arrayContaining(["turn", "tool_call", "run_event", "audit_log", "tool_journal"]),
      );
      const ofTurns = archived
        .filter((line) => line["table"] === "turn")
        .map((line) => JSON.stringify(line["row"]));
      for (const text of [`${word} row`, `${word} message`])
        expect(ofTurns.join("")).toContain(text);
      expect(lines.join("")).not.toContain("sealed:");
      expect(
        lines.every((line) => line.endsWith("\n") && line.indexOf("\n") === line.length - 1),
      ).toBe(true);
    });

    it("keep a tenant from being deleted where they cannot be reached", async () => {
      const subject = await setUpRetention(database);
      await subject.talk("old");
      subject.advanceDays(91);
      await subject.round();
      const blind = await openPlatform(database.shared);
      await expect(blind.tenantRows.delete(subject.tenantId)).rejects.toThrow(NoArchiveTargetError);
      expect((await blind.tenantRows.count(subject.tenantId))["archive"]).toBeGreaterThan(0);
    });

    it("go with a thread that is deleted", async () => {
      const subject = await setUpRetention(database);
      await subject.talk("old");
      subject.advanceDays(91);
      await subject.round();
      const ofThread = async () =>
        (await subject.platform.archives.list(subject.tenantId, { threadId: "old" })).items;
      expect(await ofThread()).toMatchObject([{ state: "archived" }]);
      await subject.useRuntime((runtime) => runtime.threads.delete("old"));
      expect(await ofThread()).toMatchObject([{ state: "removing" }]);
      const files = filesOf(subject.folder).length;
      await subject.round();
      expect([await ofThread(), filesOf(subject.folder).length]).toEqual([[], files - 1]);
    });

    it("are seen by their tenant alone", async () => {
      const [subject, other] = [await setUpRetention(database), await setUpRetention(database)];
      await subject.talk("old");
      subject.advanceDays(91);
      await subject.round();
      const [archive] = (await subject.platform.archives.list(subject.tenantId)).items;
      expect((await other.platform.archives.list(other.tenantId)).items).toEqual([]);
      await expect(other.platform.archives.get(other.tenantId, archive!.id)).rejects.toThrow(
        "There is no archive",
      );
      expect(await other.inTenant("select from stratagraph.archive")).toEqual([]);
      expect((await subject.platform.archives.get(subject.tenantId, archive!.id)).id).toBe(
        archive!.id,
      );
    });

    it("have policies that are checked before they are stored", async () => {
      const { platform, tenantId } = await setUpRetention(database);
      const set = (given: RetentionSettings) =>
        platform.tenants.updateSettings(tenantId, { retention: given });
      for (const [of, field] of [
        [
          { checkpoints: { thin_after_days: 91 } },
          "settings.retention.checkpoints.thin_after_days",
        ],
        [{ turns: { archive_after_days: 800 } }, "settings.retention.turns.archive_after_days"],
        [{ turns: { archive_after_days: 0 } }, "settings.retention.turns.archive_after_days"],
        [{ llm_calls: { thin_after_days: 1 } }, "settings.retention.llm_calls"],
        [{ other: {} }, "settings.retention"],
      ] as const) {
        const refused = await set(of as RetentionSettings).catch((thrown: unknown) => thrown);
        expect(refused).toBeInstanceOf(InvalidValueError);
        expect((refused as InvalidValueError).field).toBe(field);
      }
      const changed = {
        checkpoints: { thin_after_days: "off", archive_after_days: 400, delete_after_days: "off" },
      } as const;
      expect((await set(changed)).settings).toEqual({ retention: changed });
    });
  });
}
