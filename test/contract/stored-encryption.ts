import { randomUUID } from "node:crypto";
import { randomBytes } from "node:crypto";
import { AIMessage } from "@langchain/core/messages";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { openPlatform } from "../../src/storage/platform/open-platform.ts";
import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import { createRuntime, type Runtime } from "../../src/app.ts";
import { defineAgent } from "../../src/definition/define-agent.ts";
import { defineTool } from "../../src/definition/tool/define-tool.ts";
import { executeAgent } from "../../src/app.ts";
import type { Database } from "../../src/storage/database.ts";
import { parseEncryptionKeys } from "../../src/storage/encryption/encryption-keys.ts";
import { createValueCipher } from "../../src/storage/encryption/value-cipher.ts";
import { collect } from "../helpers/collect.ts";
import { useDatabase } from "../helpers/databases.ts";
import { ScriptedModel } from "../helpers/scripted-model.ts";

const newKey = (id: string) => `${id}:${randomBytes(32).toString("base64")}`;
const [old, next] = [newKey("old"), newKey("new")];
const marker = "PLAINTEXT-MARKER";

const lookup = defineTool({
  name: "lookup",
  description: "Looks up.",
  input_schema: z.object({ text: z.string() }),
  handler: ({ text }) => ({ found: `${text} found` }),
});
const agent = defineAgent({ name: "keeper", system_prompt: "Keep.", tools: [lookup] });

/** Encryption of what a runtime stores on a database. */
export function storedEncryption(kind: Database["kind"]): void {
  const database = useDatabase(kind);

  describe.skipIf(!database.available)(`stored encryption on ${kind}`, () => {
    const pool = () => database.shared.pool;
    const tables = ["checkpoints", "checkpoint_elements", "checkpoint_write_sets", "attachments"];
    const calls = ["turn", "tool_call", "llm_call"];

    async function use<T>(keys: string, work: (runtime: Runtime) => Promise<T>): Promise<T> {
      const { url, folder } = database.options;
      const runtime = await createRuntime({
        env: {},
        ...(url !== undefined && { databaseUrl: url }),
        ...(folder !== undefined && { folder }),
        schema: "public",
        encryption: { keys },
        models: new ScriptedModel([
          { calls: [{ name: "lookup", args: { text: `${marker} \0 \ud800 x`.repeat(40) } }] },
          `${marker} answer`,
        ]),
      });
      try {
        return await work(runtime);
      } finally {
        await runtime.close();
      }
    }
    const run = (keys: string, threadId: string) =>
      use(keys, async (runtime) => {
        const message = `${marker} ${"m".repeat(2_000)}`;
        const { status } = await executeAgent(agent, { message }, { runtime, threadId });
        expect(status).toBe("COMPLETED");
        const bytes = Buffer.from(`${marker} attached to ${threadId}`);
        await runtime.blobs?.put(threadId, { bytes, mimeType: "text/plain" });
      });
    const verified = (keys: string, threadId: string) =>
      use(keys, async ({ threads }) => {
        expect(await threads.verify(threadId)).toMatchObject({ damaged: [] });
        return JSON.stringify(await threads.stateAt({ threadId }));
      });
    const keysIn = (keys: string) =>
      use(keys, async ({ encryption }) => [
        ...new Set((await encryption!.count()).map(({ keyId }) => keyId)),
      ]);

    beforeEach(async () => {
      await new PostgresCheckpointer(pool()).setup();
      await openPlatform(database.shared, { schema: "public" });
      await use("", ({ encryption }) => encryption!.count());
      for (const table of [...tables, ...calls, "tool_journal", "attachment_uses"])
        await pool().query(`truncate ${table} cascade`);
    });

    /** Tables with a column that holds the text, in any form. */
    async function tablesWith(text: string): Promise<string[]> {
      const { rows } = await pool().query<{ name: string }>(
        `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.relkind = 'r' and n.nspname not in ('pg_catalog', 'information_schema') order by 1`,
      );
      const found: string[] = [];
      for (const { name } of rows) {
        const { rows: all } = await pool().query(`select * from ${name}`);
        const holds = (value: unknown): boolean =>
          value instanceof Uint8Array
            ? Buffer.from(value).includes(text)
            : JSON.stringify(value ?? null).includes(text);
        if (all.some((row) => Object.values(row).some(holds))) found.push(name);
      }
      return found;
    }

    it("leaves no content readable in any table, and gives all of it back", async () => {
      await run("", "plain");
      expect(await tablesWith(marker)).toEqual(
        expect.arrayContaining(["attachments", "checkpoint_elements", "tool_journal"]),
      );
      for (const table of [...tables, ...calls, "tool_journal"])
        await pool().query(`truncate ${table} cascade`);

      await run(old, "sealed");
      expect(await tablesWith(marker)).toEqual([]);
      expect(await keysIn(old)).toEqual(["old"]);
      expect(await verified(old, "sealed")).toContain(`${marker} answer`);
    });

    it("stores an unchanged value once, as without encryption", async () => {
      await run("", "plain");
      const count = async () => {
        const { rows } = await pool().query<{ n: number }>(
          "select count(*)::int as n from checkpoint_elements",
        );
        return rows[0]!.n;
      };
      const plain = await count();
      await run(old, "sealed");
      expect((await count()) - plain).toBe(plain);
    });

    it("names the key that is missing", async () => {
      await run(old, "t");
      const missing = { code: "missing_encryption_key", keyId: "old" };
      await expect(verified("", "t")).rejects.toMatchObject({ ...missing, known: [] });
      await expect(verified(next, "t")).rejects.toMatchObject({ ...missing, known: ["new"] });
      const state = use(newKey("old"), ({ threads }) => threads.stateAt({ threadId: "t" }));
      await expect(state).rejects.toMatchObject({ code: "corrupt_checkpoint" });
    });

    it("rotates to the first key while hashes stay, and reads without the old one", async () => {
      await run(old, "t");
      const hashes = async () =>
        (await pool().query("select checkpoint_id, hash from checkpoints order by 1")).rows;
      const before = await hashes();
      const counts = await use(`${next},${old}`, ({ encryption }) => encryption!.rotate());
      expect(counts.reduce((sum, { damaged, passed }) => sum + damaged + passed, 0)).toBe(0);
      const written = counts.flatMap(({ table, resealed }) => (resealed > 0 ? [table] : []));
      expect(written).toEqual(expect.arrayContaining([...tables, ...calls, "tool_journal"]));
      expect(await hashes()).toEqual(before);
      expect(await keysIn(next)).toEqual(["new"]);
      expect(await verified(next, "t")).toContain(marker);
      const again = await use(next, ({ encryption }) => encryption!.rotate());
      expect(again.every(({ resealed }) => resealed === 0)).toBe(true);
    });

    it("rotates every sealed column of the platform, of one tenant or of all", async () => {
      const platformOf = (keys: string) =>
        openPlatform(database.shared, {
          schema: "public",
          cipher: createValueCipher(parseEncryptionKeys(keys)),
        });
      const sealed = await platformOf(old);
      const { id: tenantId } = await sealed.tenants.create({ name: `rotated on ${kind}` });
      const stored = await sealed.agents.create(tenantId, { name: "a", definition: {} });
      const { id: instanceId } = await sealed.instances.create(tenantId, {
        threadId: "t",
        agent: "a",
        definitionId: stored.id,
      });
      // The JSON texts of numbers that JavaScript would round, too.
      const request = { word: marker, odd: 'sealed:"\u0000', input: { message: marker } };
      const given = { instanceId, definitionId: stored.id, request };
      const { id: runId } = await sealed.runs.create(tenantId, given);
      const claim = await sealed.claims.claim({ worker: "w", leaseMs: 1_000 });
      await sealed.events.append(claim!, [{ event: "e", data: { marker } }]);
      await sealed.claims.finish(claim!, { state: "complete", result: { marker } });
      const { secret } = await sealed.webhooks.create(tenantId, {
        url: "https://a.b",
        events: ["*"],
      });
      await sealed.secrets.set(tenantId, { name: "TOKEN", value: marker });
      await sealed.webhooks.enqueue(tenantId, { event: "e", body: { marker } });
      const key = { key: "k", attempt: randomUUID(), requestHash: Buffer.alloc(32) };
      await sealed.idempotency.begin(tenantId, key);
      await sealed.idempotency.finish(tenantId, key, { status: 200, answer: { marker } });
      const both = `${next},${old}`;
      const names = [
        "agent_instance",
        "run",
        "run_event",
        "webhook",
        "webhook_delivery",
        "idempotency_key",
        "secret",
      ];
      const byKey = (scope: { allTenants: boolean }) =>
        use(both, async ({ encryption }) => {
          const counts = await encryption!.count(scope);
          return counts.flatMap(({ table, keyId, values }) =>
            names.includes(table) ? [`${table} ${keyId} ${values}`] : [],
          );
        });
      const as = (id: string) => names.map((name) => `${name} ${id} ${name === "run" ? 2 : 1}`);
      await use(both, ({ encryption }) => encryption!.rotate());
      expect(await byKey({ allTenants: false })).toEqual([]);
      expect((await byKey({ allTenants: true })).toSorted()).toEqual(as("old").toSorted());
      await use(both, ({ encryption }) => encryption!.rotate({ allTenants: true, batch: 1 }));
      expect((await byKey({ allTenants: true })).toSorted()).toEqual(as("new").toSorted());

      const read = await platformOf(next);
      expect(await read.instances.get(tenantId, instanceId)).toMatchObject({ title: marker });
      expect(await read.runs.get(tenantId, runId)).toMatchObject({ request, result: { marker } });
      expect(await read.events.read(tenantId, runId)).toMatchObject([{ data: { marker } }]);
      expect(await read.idempotency.begin(tenantId, key)).toMatchObject({ answer: { marker } });
      expect(await read.secrets.read(tenantId, "TOKEN")).toBe(marker);
      const due = await read.webhooks.claimDue({ leaseMs: 1 });
      expect(due).toMatchObject([{ secret, body: { marker } }]);
      await expect((await platformOf(old)).runs.get(tenantId, runId)).rejects.toMatchObject({
        code: "missing_encryption_key",
        keyId: "new",
      });
      await read.tenantRows.delete(tenantId);
    });

    it("rotates the threads of every tenant for an operator", async () => {
      const platform = await openPlatform(database.shared, { schema: "public" });
      const { id: tenantId } = await platform.tenants.create({ name: `threads on ${kind}` });
      const cipherOf = (keys: string) => createValueCipher(parseEncryptionKeys(keys));
      const saverOf = (keys: string) =>
        new PostgresCheckpointer(pool(), { tenantId, cipher: cipherOf(keys) });
      const bytes = Buffer.from(marker);
      const sha256 = await saverOf(old).blobs.put("t", { bytes, mimeType: "text/plain" });
      const both = `${next},${old}`;
      await use(both, ({ encryption }) => encryption!.rotate());
      await expect(saverOf(next).blobs.get("t", sha256)).rejects.toMatchObject({
        code: "missing_encryption_key",
      });
      await use(both, ({ encryption }) => encryption!.rotate({ allTenants: true }));
      expect(Buffer.from((await saverOf(next).blobs.get("t", sha256))!)).toEqual(bytes);
      await platform.tenantRows.delete(tenantId);
    });

    it("continues a rotation that was interrupted, with values of both keys readable meanwhile", async () => {
      await run(old, "t");
      const both = `${next},${old}`;
      const stop = new AbortController();
      const rotation = use(both, ({ encryption }) =>
        encryption!.rotate({ batch: 1, signal: stop.signal, onProgress: () => stop.abort() }),
      );
      await expect(rotation).rejects.toThrow(expect.objectContaining({ name: "AbortError" }));
      expect(new Set(await keysIn(both))).toEqual(new Set(["new", "old"]));
      expect(await verified(both, "t")).toContain(marker);
      await use(both, ({ encryption }) => encryption!.rotate({ batch: 2 }));
      expect(await keysIn(next)).toEqual(["new"]);
      expect(await verified(next, "t")).toContain(marker);
    });

    it("seals what was stored before it was turned on, which is read as it is until then", async () => {
      await run("", "t");
      expect(await verified(old, "t")).toContain(marker);
      expect(await keysIn(old)).toEqual([null]);
      await run(old, "t");
      expect(await keysIn(old)).toEqual(expect.arrayContaining([null, "old"]));
      await use(old, ({ encryption }) => encryption!.rotate());
      expect(await keysIn(old)).toEqual(["old"]);
      expect(await tablesWith(marker)).toEqual([]);
      expect(await verified(old, "t")).toContain(marker);
    });

    it("leaves a value that a run has changed since it was read", async () => {
      await run(old, "t");
      let isFirst = true;
      const racing = {
        ...pool(),
        query: async (text: string, values: unknown[]) => {
          if (isFirst && text.startsWith("update")) {
            isFirst = false;
            await pool().query("update checkpoint_write_sets set body = body || '\\x00'::bytea");
          }
          return pool().query(text, values);
        },
      };
      const { resealTable } = await import("../../src/storage/encryption/reseal.ts");
      const sets = (await new PostgresCheckpointer(pool()).sealedTables()).find(
        ({ name }) => name === "checkpoint_write_sets",
      )!;
      const cipher = createValueCipher(parseEncryptionKeys(`${next},${old}`));
      const counts = await resealTable(
        { ...sets, pool: racing as never },
        { cipher, keyId: "new" },
      );
      expect(counts).toMatchObject({ resealed: 0, damaged: 0 });
      expect(counts.passed).toBeGreaterThan(0);
    });

    it.each([
      ["checkpoint_elements", "blob"],
      ["checkpoints", "body"],
      ["checkpoint_write_sets", "body"],
    ])("finds changed, cut and swapped values of %s", async (table, column) => {
      for (const change of [
        `set_byte(${column}, octet_length(${column}) - 20, get_byte(${column}, octet_length(${column}) - 20) # 1)`,
        `substring(${column} from 1 for octet_length(${column}) - 1)`,
        `(select o.${column} from ${table} o where o.${column} <> t.${column} limit 1)`,
      ]) {
        await pool().query("truncate checkpoints, checkpoint_elements, checkpoint_write_sets");
        await run(old, "t");
        await pool().query(`update ${table} t set ${column} = ${change}`);
        const { damaged } = await use(old, ({ threads }) => threads.verify("t"));
        expect({ change, damaged: damaged.length > 0 }).toEqual({ change, damaged: true });
        const rotated = await use(`${next},${old}`, ({ encryption }) => encryption!.rotate());
        expect(rotated.find((one) => one.table === table)?.damaged).toBeGreaterThan(0);
      }
    });

    it("refuses pending writes of another row, their hash made to fit", async () => {
      const cipher = createValueCipher(parseEncryptionKeys(old));
      await run(old, "t");
      const { sealContext, writesHash } = await import("../../checkpointers/integrity.ts");
      const { rows } = await pool().query<Record<string, string & Buffer>>(
        "select * from checkpoint_write_sets order by checkpoint_id limit 1",
      );
      const row = rows[0]!;
      const name = {
        threadId: "t",
        namespace: row["checkpoint_ns"]!,
        checkpointId: row["checkpoint_id"]!,
        taskId: row["task_id"]!,
        idx: Number(row["idx"]),
      };
      const other = cipher.sealBytes(Buffer.from("x"), sealContext.writes({ ...name, idx: 99 }));
      await pool().query(
        "update checkpoint_write_sets set body = $1, hash = $2 where checkpoint_id = $3 and task_id = $4 and idx = $5",
        [other, writesHash({ ...name, body: other }), name.checkpointId, name.taskId, name.idx],
      );
      const { damaged } = await use(old, ({ threads }) => threads.verify("t"));
      expect(damaged.map(({ checkpointId }) => checkpointId)).toContain(name.checkpointId);
      const saver = new PostgresCheckpointer(pool(), { cipher });
      const { checkpointId: checkpoint_id } = name;
      const reading = saver.getTuple({ configurable: { thread_id: "t", checkpoint_id } });
      await expect(reading.then((tuple) => tuple!.pendingWrites)).rejects.toMatchObject({
        code: "corrupt_checkpoint",
      });
    });

    it("exports plain lines, which another key seals when they are imported", async () => {
      await run(old, "t");
      const lines = await use(old, ({ threads }) => collect(threads.export("t")));
      expect(lines.join("\n")).toContain(marker);
      const before = await verified(old, "t");
      await use(old, ({ threads }) => threads.delete("t"));
      await use(next, ({ threads }) => threads.import(lines));
      expect(await tablesWith(marker)).toEqual([]);
      expect(await keysIn(next)).toEqual(["new"]);
      // Imported elements have logs of their own, which the hash of a checkpoint covers.
      const content = (text: string) => text.replace(/"integrityHash":"[0-9a-f]+"/, "");
      expect(content(await verified(next, "t"))).toBe(content(before));
      await use("", ({ threads }) => threads.import(lines, { threadId: "plain" }));
      expect(await verified("", "plain")).toContain(marker);
    });

    it("forks a sealed thread, each row sealed for its own place", async () => {
      await run(old, "t");
      await use(old, async ({ threads }) => {
        const { items } = await threads.history("t");
        await threads.fork({ threadId: "t", checkpointId: items[1]!.id, newThreadId: "forked" });
      });
      expect(await verified(old, "forked")).toContain(marker);
      expect(await verified(old, "t")).toContain(marker);
    });

    it("gives equal checkpoints unequal hashes, which confirm no guess at the content", async () => {
      const hashOf = async (keys: string) => {
        const cipher = createValueCipher(parseEncryptionKeys(keys));
        const saver = new PostgresCheckpointer(pool(), keys === "" ? {} : { cipher });
        await saver.put(
          { configurable: { thread_id: "equal" } },
          {
            v: 4,
            id: "1ef00000-0000-6000-8000-000000000000",
            ts: "2026-01-01T00:00:00.000Z",
            channel_values: { approved: true },
            channel_versions: { approved: 1 },
            versions_seen: {},
          },
          { source: "input", step: -1, parents: {} },
          { approved: 1 },
        );
        const { rows } = await pool().query<{ hash: Buffer }>("select hash from checkpoints");
        await saver.deleteThread("equal");
        return rows[0]!.hash.toString("hex");
      };
      expect(await hashOf("")).toBe(await hashOf(""));
      expect(await hashOf(old)).not.toBe(await hashOf(old));
    });

    it("holds values of 1 MB, NUL characters and lone surrogates", async () => {
      const cipher = createValueCipher(parseEncryptionKeys(old));
      const saver = new PostgresCheckpointer(pool(), { cipher });
      const value = { large: "x".repeat(2 ** 20), odd: "a\0b\ud800", bytes: Uint8Array.of(0, 159) };
      const config = await saver.put(
        { configurable: { thread_id: "large" } },
        {
          v: 4,
          id: "1ef00000-0000-6000-8000-000000000000",
          ts: "2026-01-01T00:00:00.000Z",
          channel_values: { value, messages: [new AIMessage("hi")] },
          channel_versions: { value: 1, messages: 1 },
          versions_seen: {},
        },
        { source: "input", step: -1, parents: {} },
        { value: 1, messages: 1 },
      );
      const reader = new PostgresCheckpointer(pool(), { cipher });
      const tuple = await reader.getTuple(config);
      expect(tuple?.checkpoint.channel_values["value"]).toEqual(value);
    });
  });
}
