import type { ThreadListOptions } from "../../src/durable-saver.ts";
import { uuid6 } from "@langchain/langgraph-checkpoint";
import { beforeAll, describe, expect, test } from "vitest";
import { InvalidPageError } from "../../checkpointers/errors.ts";
import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import { listThreads } from "../../checkpointers/threads/summaries.ts";
import { loadMigrations, migrate } from "../../src/storage/migrate.ts";
import type { Queryable } from "../../src/storage/pool.ts";
import { defaultTenant } from "../../src/storage/tenant.ts";
import { tenantPool } from "../../src/storage/tenant-pool.ts";
import type { TestDatabase } from "../helpers/databases.ts";
import { listAllThreads, scanThreads } from "../helpers/thread-scan.ts";

/** The list of threads on rows made by hand: what triggers maintain is what a scan of all checkpoints would give. */
export function threadList(database: TestDatabase): void {
  describe.skipIf(!database.available)(`The list of threads on ${database.kind}`, () => {
    const name = "listed $& 'threads'";
    const schema = `"${name}"`;
    let saver: PostgresCheckpointer;
    const query = (text: string, values?: unknown[]) =>
      database.shared.pool.query<{ list: string }>(text, values);

    /** Checkpoints of a thread, each of a second of its own. */
    async function add(thread: string, seconds: readonly number[], summary: object = {}) {
      await query(
        `insert into ${schema}.checkpoints (thread_id, checkpoint_id, checkpoint, metadata, summary)
        select $1, id, '{"ts": "2026"}', '{"definition_hash": "d"}', $3 from unnest($2::text[]) id`,
        [thread, seconds.map((second) => uuid6(second)).toSorted(), JSON.stringify(summary)],
      );
    }

    async function expectListed(): Promise<number> {
      const scanned = await scanThreads(database.shared.pool, schema);
      expect(await listAllThreads(saver, { limit: 3 })).toEqual(scanned);
      const { rowCount } = await query(
        `select from ${schema}.checkpoint_threads t full join
          (select thread_id, count(*) as entries from ${schema}.checkpoints group by 1) c using (thread_id)
        where t.entries is distinct from c.entries`,
      );
      expect(rowCount).toBe(0);
      return scanned.length;
    }

    beforeAll(async () => {
      const folder = new URL("../../checkpointers/migrations/", import.meta.url);
      const migrations = await loadMigrations(folder);
      const { PostgresSaver } = await import("@langchain/langgraph-checkpoint-postgres");
      const stock = new PostgresSaver(database.shared.pool as never, undefined, { schema: name });
      await stock.setup();
      const older = migrations.slice(0, 1);
      await migrate(database.shared.pool, { schema: name, name: "checkpoints", migrations: older });
      await add("before", [1, 2, 3], { status: "COMPLETED", agent: "a", bytes: 7 });
      await add("of the stock class", [4]);
      await query(`update ${schema}.checkpoints set summary = null where thread_id like 'of%'`);
      await query(
        `insert into ${schema}.checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint, summary)
        values ('before', 'sub', '9', 'null', '{"bytes": 0.5}'), ('subgraphs alone', 'sub', '9', 'null', '{"bytes": 1e40}')`,
      );
      saver = new PostgresCheckpointer(database.shared.pool, { schema: name });
      await saver.setup();
    });

    test("has the threads of before its migration", async () => {
      expect(await expectListed()).toBe(2);
    });

    test("follows checkpoints that are added, changed, moved, removed and truncated by hand", async () => {
      for (const [thread, second] of [
        ["a", 10],
        ["b", 11],
        ["before", 12],
      ] as const) {
        await add(thread, [second], { status: thread, agent: "x".repeat(9_000), bytes: 1 });
      }
      expect(await expectListed()).toBe(4);
      await query(
        `insert into ${schema}.checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint, summary)
        select 'thread ' || n % 7, case n % 5 when 0 then 'sub' else '' end, lpad(n::text, 6, '0'), 'null',
          jsonb_build_object('bytes', n, 'status', case n % 3 when 0 then to_jsonb(n) else '"RUNNING"' end)
        from generate_series(1, 100) n`,
      );
      expect(await expectListed()).toBe(11);
      for (const change of [
        `update ${schema}.checkpoints set summary = '{"bytes": "many", "status": ["x"], "agent": "late"}' where checkpoint_id > '000090'`,
        `update ${schema}.checkpoints set thread_id = 'moved' where thread_id in ('thread 1', 'b')`,
        `update ${schema}.checkpoints set checkpoint_ns = 'sub' where checkpoint_id like '%99'`,
        `delete from ${schema}.checkpoints where checkpoint_id > '000095' or thread_id = 'a'`,
        `delete from ${schema}.checkpoints where checkpoint_ns = ''`,
        `delete from ${schema}.checkpoints`,
      ]) {
        await query(change);
        await expectListed();
      }
      await add("a", [1]);
      await query(`truncate ${schema}.checkpoints`);
      expect(await expectListed()).toBe(0);
    });

    test("is filtered by status and agent, in pages, by indexes alone", async () => {
      await query(`truncate ${schema}.checkpoints`);
      await query(
        `insert into ${schema}.checkpoints (thread_id, checkpoint_id, checkpoint, metadata, summary)
        select 'thread ' || n, lpad((n / 2)::text, 6, '0'), '{"ts": "2026"}', '{"definition_hash": "d"}',
          jsonb_build_object('status', case n % 10 when 0 then 'AWAITING_HUMAN' else 'COMPLETED' end, 'agent', 'agent ' || n % 3)
        from generate_series(1, 3000) n`,
      );
      const scanned = await scanThreads(database.shared.pool, schema);
      for (const filter of [
        { status: "AWAITING_HUMAN" },
        { agent: "agent 2" },
        { status: "COMPLETED", agent: "agent 0" },
        { status: "none" },
      ]) {
        const { status, agent } = filter as { status?: string; agent?: string };
        const expected = scanned.filter(
          (one) =>
            (status === undefined || one.status === status) &&
            (agent === undefined || one.agent === agent),
        );
        expect(await listAllThreads(saver, { ...filter, limit: 130 })).toEqual(expected);
        for (const cursor of [undefined, "000700 thread 1400"]) {
          const plan = await explained({ ...filter, cursor });
          expect(plan).not.toMatch(/Seq Scan|Sort Key/);
          expect(plan).toMatch(/Index Cond: .*\b(?:status|agent) = /);
        }
      }
      await expect(saver.listThreads({ cursor: "spaceless" })).rejects.toThrow(InvalidPageError);
    });

    /**
     * The plan of the statement that lists threads where scans of tables and sorts are the last resort. On few rows the
     * planner chooses by statistics, which autovacuum takes at any time.
     */
    async function explained(options: ThreadListOptions): Promise<string> {
      const owned = { pool: database.shared.pool, role: "stratagraph_tenant" };
      const client = await tenantPool(owned, defaultTenant).connect();
      const plan: string[] = [];
      const watched: Queryable["query"] = async (text, values) => {
        const { rows } = await client.query<object>(
          `explain ${typeof text === "string" ? text : text.text}`,
          values,
        );
        plan.push(...rows.flatMap((row) => Object.values(row).map(String)));
        return { rows: [], rowCount: 0, command: "EXPLAIN" };
      };
      try {
        await client.query("begin");
        for (const method of ["seqscan", "sort", "incremental_sort"])
          await client.query(`set local enable_${method} = off`);
        await listThreads({ query: watched }, name, options);
        await client.query("rollback");
      } finally {
        client.release();
      }
      return plan.join("\n");
    }
  });
}
