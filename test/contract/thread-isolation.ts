import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { beforeAll, describe, expect, test } from "vitest";
import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import { DatabaseExperimentMemory } from "../../src/experiment/memory/database-memory.ts";
import type { Database } from "../../src/storage/database.ts";
import { DatabasePermissionError } from "../../src/storage/errors.ts";
import {
  defaultTenant,
  InvalidTenantError,
  openTenantPool,
  type TenantPool,
} from "../../src/storage/tenant.ts";
import { tenantPool } from "../../src/storage/tenant-pool.ts";
import { lockThread } from "../../src/storage/thread-lock.ts";
import { DatabaseToolJournal } from "../../src/storage/tool-journal.ts";
import { canonicalHash } from "../../src/values/json.ts";
import { newTenant } from "./memory-store.ts";
import type { IsolationSubject } from "./tenant-isolation.ts";

const tables = [
  "checkpoints",
  "checkpoint_blobs",
  "checkpoint_writes",
  "checkpoint_elements",
  "checkpoint_log_uses",
  "checkpoint_write_sets",
  "checkpoint_definitions",
  "checkpoint_threads",
  "attachments",
  "attachment_uses",
  "tool_journal",
  "experiment_memory",
  "experiment_memory_changes",
] as const;

const threadId = "the same";
const id = uuid6(1);
const bytes = Buffer.from("a picture");
const config = (checkpoint_id?: string) => ({
  configurable: { thread_id: threadId, checkpoint_ns: "", ...(checkpoint_id && { checkpoint_id }) },
});

/** Threads, calls, attachments and memories of one id, of several tenants. */
export function threadIsolationContract(subject: IsolationSubject): void {
  describe.skipIf(!subject.available)(`threads of tenants ${subject.name}`, () => {
    const schema = `it's "${subject.name.slice(0, 30)}" {schema} %I`;
    let database: Database;
    let tenants: TenantPool;
    const table = (name: string) => `"${schema.replaceAll('"', '""')}".${name}`;
    const open = (tenantId: string) => {
      const { pool } = database;
      const saver = new PostgresCheckpointer(pool, { schema, tenantId });
      const journal = new DatabaseToolJournal(pool, { schema, tenantId });
      const memory = new DatabaseExperimentMemory(pool, { schema, tenantId });
      return { saver, journal, memory: memory.of("run") };
    };
    const call = { threadId, run: "r", step: 0, callId: "c", tool: "t", input: {} };
    /** One row or more in each table, under the same ids for each tenant. */
    const fill = async (tenantId: string) => {
      const stores = open(tenantId);
      const { saver, journal, memory } = stores;
      const definition = { name: "agent" };
      const definitionHash = canonicalHash(definition);
      saver.rememberDefinition(definitionHash, definition);
      const checkpoint = {
        ...emptyCheckpoint(),
        id,
        channel_values: { text: [tenantId, "x".repeat(5_000)] },
        channel_versions: { text: 1 },
      };
      const at = { configurable: { ...config().configurable, __definition_hash: definitionHash } };
      await saver.put(at, checkpoint, { source: "loop", step: 0, parents: {} }, { text: 1 });
      await saver.putWrites(config(id), [["text", tenantId]], "task");
      const sha256 = await saver.blobs.put(threadId, { bytes, mimeType: "image/png" });
      await tenantPool(tenants, tenantId).query(
        `with stock as (insert into ${table("checkpoint_blobs")} (thread_id, channel, version, type, blob)
          values ('stock', 'a', '1', 'json', '1'))
        insert into ${table("checkpoint_writes")} (thread_id, checkpoint_id, task_id, idx, channel, type, blob)
        values ('stock', '1', 't', 0, 'a', 'json', '1')`,
      );
      await journal.begin({ ...call, idempotent: false });
      await memory.write("key", tenantId, 1);
      return { ...stores, sha256 };
    };
    /** Rows of a tenant in a table, as that tenant reads them. */
    const rowsOf = async (name: string, tenant: string) => {
      const { rows } = await tenantPool(tenants, tenant).query<{ row: string }>(
        `select e::text as row from ${table(name)} e order by 1`,
      );
      return rows.map(({ row }) => row);
    };

    beforeAll(async () => {
      if (!subject.available) return;
      database = await subject.database();
      const { saver, journal, memory } = open(defaultTenant);
      await saver.setup();
      await journal.setup();
      await memory.list();
      tenants = await openTenantPool(database.pool, { schema, tables });
    });

    test("run as a role of their own where the user could read all rows", () => {
      expect(tenants.role).toBe(subject.hasRole ? "stratagraph_tenant" : null);
    });

    test.each(tables)(
      "have %s for themselves, though no statement has a condition",
      async (name) => {
        const [mine, other] = [newTenant(), newTenant()];
        await fill(mine);
        await fill(other);
        const others = await rowsOf(name, other);
        expect(others.length).toBeGreaterThan(0);
        const pool = tenantPool(tenants, mine);
        const read = await pool.query<{ tenant_id: string }>(
          `select tenant_id from ${table(name)}`,
        );
        expect(new Set(read.rows.map((row) => row.tenant_id))).toEqual(new Set([mine]));
        const updated = await pool.query(`update ${table(name)} set tenant_id = tenant_id`);
        expect(updated.rowCount).toBe(read.rows.length);
        if (name === "attachments") await pool.query(`delete from ${table("attachment_uses")}`);
        const deleted = await pool.query(`delete from ${table(name)}`);
        expect(deleted.rowCount).toBe(read.rows.length);
        expect(await rowsOf(name, mine)).toEqual([]);
        expect(await rowsOf(name, other)).toEqual(others);
      },
    );

    test.each(tables)("cannot write rows of another tenant into %s", async (name) => {
      const [mine, other] = [newTenant(), newTenant()];
      await fill(mine);
      const before = await rowsOf(name, mine);
      await fill(other);
      const pool = tenantPool(tenants, other);
      const forged = `insert into ${table(name)} select (json_populate_record(e, json_build_object('tenant_id', $1::uuid))).* from ${table(name)} e`;
      await expect(pool.query(forged, [mine])).rejects.toThrow(DatabasePermissionError);
      await expect(
        pool.query(`update ${table(name)} set tenant_id = $1::uuid`, [mine]),
      ).rejects.toThrow(DatabasePermissionError);
      expect(await rowsOf(name, mine)).toEqual(before);
    });

    test("keep what they stored under one id, and remove it, without a trace at the other", async () => {
      const [mine, other] = [newTenant(), newTenant()];
      const [one, two] = [await fill(mine), await fill(other)];
      expect(one.sha256).toBe(two.sha256);
      for (const [tenant, { saver, memory }] of [
        [mine, one],
        [other, two],
      ] as const) {
        const tuple = await saver.getTuple(config());
        expect(tuple).toMatchObject({ pendingWrites: [["task", "text", tenant]] });
        expect(tuple!.checkpoint.channel_values["text"]).toMatchObject([tenant, {}]);
        expect((await saver.listThreads()).items).toMatchObject([{ threadId, checkpoints: 1 }]);
        expect(await memory.read("key")).toBe(tenant);
      }
      await one.saver.deleteThread(threadId);
      await one.journal.forget(threadId);
      await one.memory.clear();
      expect(await one.saver.getTuple(config())).toBeUndefined();
      expect(await one.saver.blobs.get(threadId, one.sha256)).toBeNull();
      expect(await two.saver.verifyThread(threadId)).toEqual({ checked: 1, damaged: [] });
      expect(await two.saver.blobs.get(threadId, two.sha256)).toEqual(bytes);
      expect(await two.journal.entriesOf(threadId)).toMatchObject([{ state: "started" }]);
      expect(await two.memory.list()).toEqual(["key"]);
    });

    test("do not wait for a thread of one id that another tenant runs", async () => {
      const [mine, other] = [newTenant(), newTenant()];
      const locks = await Promise.all(
        [mine, other].map((tenantId) => lockThread(database, threadId, { schema, tenantId })),
      );
      await expect(lockThread(database, threadId, { schema, tenantId: mine })).rejects.toThrow(
        "is run or recovered elsewhere",
      );
      await Promise.all(locks.map((lock) => lock.release()));
    });

    test("find the newest checkpoint by an index", async () => {
      const tenant = newTenant();
      const pool = tenantPool(tenants, tenant);
      await pool.query(
        `insert into ${table("checkpoints")} (thread_id, checkpoint_id, checkpoint)
        select 't' || n % 20, lpad(n::text, 6, '0'), 'null' from generate_series(1, 2000) n`,
      );
      const { rows } = await pool.query<object>(
        `explain select * from ${table("checkpoints")} where thread_id = 't1' and checkpoint_ns = ''
        order by checkpoint_id desc limit 1`,
      );
      const plan = rows.map((row) => Object.values(row).join("")).join("\n");
      expect(plan).toMatch(
        /Index Scan Backward using checkpoints_pkey[^]*Index Cond: \(\(tenant_id = .*thread_id = /,
      );
      expect(plan).not.toMatch(/Sort|Seq Scan/);
    });

    test("share no session's setting: each statement of a client has its transaction", async () => {
      const tenant = newTenant();
      const client = await tenantPool(tenants, tenant).connect();
      const current = async () => {
        const { rows } = await client.query("select current_setting('app.tenant', true) as at");
        return rows;
      };
      try {
        const both = await Promise.all([current(), current()]);
        expect(both).toEqual([[{ at: tenant }], [{ at: tenant }]]);
        await client.query("BEGIN isolation level serializable;");
        await client.query("savepoint a");
        await client.query("rollback to savepoint a");
        const { rows } = await client.query("show transaction_isolation");
        expect(rows).toEqual([{ transaction_isolation: "serializable" }]);
        expect(await current()).toEqual([{ at: tenant }]);
        await client.query("commit");
        await expect(client.query("select 1 / 0")).rejects.toThrow("division by zero");
        expect(await current()).toEqual([{ at: tenant }]);
      } finally {
        client.release();
      }
      const { rows } = await database.pool.query(
        "select coalesce(current_setting('app.tenant', true), '') as at, current_user = session_user as own",
      );
      expect(rows).toEqual([{ at: "", own: true }]);
    });

    test.each(["", "'; drop table x; --", "00000000-0000-0000-0000-00000000000A"])(
      "cannot be named %j",
      (tenantId) => {
        expect(() => open(tenantId)).toThrow(InvalidTenantError);
      },
    );
  });
}
