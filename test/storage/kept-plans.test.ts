import { randomUUID } from "node:crypto";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { describe, expect, it } from "vitest";
import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import { openPlatform } from "../../src/storage/platform/open-platform.ts";
import { DatabaseToolJournal } from "../../src/storage/tool-journal.ts";
import { withAllTenants } from "../../src/storage/tenant.ts";
import { useDatabase } from "../helpers/databases.ts";
import { ReadingPool } from "../helpers/reading-pool.ts";

for (const kind of ["pglite", "postgres"] as const) {
  const database = useDatabase(kind);
  describe.skipIf(!database.available)(`Plans made on empty tables of ${kind}`, () => {
    it("read one thread of many when runs are created and claimed", async () => {
      const pool = new ReadingPool(database.shared.pool);
      const platform = await openPlatform({ ...database.shared, pool });
      const { id: tenantId } = await platform.tenants.create({ name: "many" });
      const agent = await platform.agents.create(tenantId, { name: "a", definition: {} });
      const by = { worker: "w", leaseMs: 60_000 };
      const create = (claim?: typeof by) => {
        const given = { threadId: randomUUID(), agent: "a", isEphemeral: false, request: {} };
        const run = { ...given, definitionId: agent.id };
        return platform.runs.createOnNewThread(tenantId, run, claim);
      };
      const end = { state: "complete", result: null } as const;
      const first = await create(by);
      await platform.claims.finish(first, end);
      const { instanceId, threadId } = first;
      const readsOfRuns = async () => {
        const read = await pool.during(async () => {
          await platform.claims.finish(await create(by), end);
          const { id } = await platform.runs.create(tenantId, {
            instanceId,
            request: {},
            priority: 9,
          });
          const run = await platform.claims.claim(by);
          expect(run).toMatchObject({ id });
          await platform.claims.finish(run!, end);
        });
        return [...read.values()].map(({ run }) => run ?? 0);
      };
      const [, claimed] = await readsOfRuns();
      expect(claimed).toBeGreaterThan(0);
      // A thousand threads, half of them queued, and one of three hundred runs.
      await withAllTenants(database.shared.pool, (client) =>
        client.query(
          `with made as (
            insert into stratagraph.agent_instance (id, tenant_id, definition_id, agent, thread_id)
            select gen_random_uuid(), '${tenantId}', '${agent.id}', 'a', gen_random_uuid()::text from generate_series(1, 1000)
            returning id, thread_id
          ), runs (id, thread_id, seq, state) as (
            select id, thread_id, 1, case when row_number() over () % 2 = 0 then 'complete' else 'queued' end from made
            union all select $1::uuid, $2, n, 'complete' from generate_series(100, 400) n
          )
          insert into stratagraph.run (id, tenant_id, instance_id, thread_id, seq, kind, request, state)
          select gen_random_uuid(), '${tenantId}', id, thread_id, seq, 'turn', '{}', state from runs`,
          [instanceId, threadId],
        ),
      );
      expect(Math.max(...(await readsOfRuns()))).toBeLessThan(10);
    });

    it("read one thread of many when checkpoints are put and read", async () => {
      const pool = new ReadingPool(database.shared.pool);
      const reads = async () => {
        const saver = new PostgresCheckpointer(pool);
        const thread = randomUUID();
        return pool.during(async () => {
          let parent: string | undefined;
          for (let step = 0; step < 3; step += 1) {
            const values = { text: `${step}`, list: Array.from({ length: step + 1 }, String) };
            const versions = { text: step + 1, list: step + 1 };
            const checkpoint = {
              ...emptyCheckpoint(),
              id: uuid6(step),
              channel_values: values,
              channel_versions: versions,
            };
            await saver.put(at(thread, parent), checkpoint, metadata, versions);
            await saver.putWrites(at(thread, checkpoint.id), [["text", "b"]], `task ${step}`);
            parent = checkpoint.id;
          }
          await new PostgresCheckpointer(pool).getTuple(at(thread));
          await new PostgresCheckpointer(pool).getTuple(at(thread, parent));
        });
      };
      for (let made = 0; made < 20; made += 1) await reads();
      const read = [...(await reads())].map(([name, tables]) => [
        name.split("-").slice(2).join("-"),
        tables,
      ]);
      const one = { checkpoints: 2, checkpoint_write_sets: 1 };
      expect(Object.fromEntries(read)).toEqual({
        put: { checkpoints: 1, checkpoint_threads: 1 },
        "add-writes": {},
        latest: one,
        "by-id": one,
      });
      const { rows } = await pool.query(
        "select name from pg_prepared_statements where name like 'checkpoints-%' and custom_plans > 0",
      );
      expect(rows).toEqual([]);
    });

    it("read each checkpoint of a thread once, and one call of many", async () => {
      const pool = new ReadingPool(database.shared.pool);
      const journal = new DatabaseToolJournal(pool);
      const reads = (steps: number) =>
        pool.during(async () => {
          const saver = new PostgresCheckpointer(pool);
          const thread = randomUUID();
          const fail = (error: unknown) => expect.unreachable(String(error));
          const stop = saver.watchRun(thread, fail, { isAhead: true });
          let parent: string | undefined;
          const put = (id: string) =>
            saver.put(at(thread, parent), { ...emptyCheckpoint(), id }, metadata, {});
          for (let step = 0; step < steps; step += 1) {
            const id = uuid6(step);
            await put(id);
            parent = id;
          }
          await saver.drain(thread);
          stop();
          await put(parent!);
          await saver.putWrites(at(thread, parent), [["__interrupt__", "?"]], "task");
          await saver.getDeltaChannelHistory({ config: at(thread), channels: ["none"] });
          for (let step = 0; step < steps; step += 1) {
            const key = { threadId: thread, run: "", step, callId: "", idempotent: false };
            for (const n of [1, 2]) await journal.begin({ ...key, tool: "t", input: { n } });
            const times = { execution_time_ms: 0, retries: 0 };
            await journal.end(key, { outcome: "success", result: "", error: null, ...times });
          }
        });
      for (let made = 0; made < 3; made += 1) await reads(3);
      const read = [...(await reads(32))].map(([name, tables]) => [
        name.replace(/^.*-[\da-f]{12}-/, ""),
        tables,
      ]);
      expect(Object.fromEntries(read)).toEqual({
        put: { checkpoint_threads: 1 },
        "all-put": { checkpoints: expect.toSatisfy((rows: number) => rows < 32) },
        replace: { checkpoints: 2, checkpoint_threads: 3 },
        "replace-writes": {},
        "delta-history": { checkpoints: 5 * 32, checkpoint_write_sets: 1 },
        begin: { tool_journal: 1 },
        restart: { tool_journal: 1 },
        end: { tool_journal: 1 },
      });
    });
  });
}

function at(thread: string, id?: string) {
  return {
    configurable: { thread_id: thread, checkpoint_ns: "", ...(id && { checkpoint_id: id }) },
  };
}

const metadata = { source: "loop" as const, step: 0, parents: {} };
