import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import { LeaseLostError } from "../../src/storage/errors.ts";
import { loadMigrations, migrate } from "../../src/storage/migrate.ts";
import { openTenantPool, type TenantPool } from "../../src/storage/tenant.ts";
import { tenantPool, ThreadFences } from "../../src/storage/tenant-pool.ts";
import { DatabaseToolJournal } from "../../src/storage/tool-journal.ts";
import { collect } from "../helpers/collect.ts";
import type { TestDatabase } from "../helpers/databases.ts";
import { newTenant } from "./memory-store.ts";
import { loopGraph } from "./time-travel-graph.ts";

const schema = "stratagraph";
const threadId = "fenced";
const config = (checkpoint_id?: string) => ({
  configurable: { thread_id: threadId, checkpoint_ns: "", ...(checkpoint_id && { checkpoint_id }) },
});

/** What a claim on a run lets its worker write, and what an older claim does not. */
export function runFenceContract(database: TestDatabase): void {
  describe.skipIf(!database.available)(`a fenced thread on ${database.kind}`, () => {
    let tenants: TenantPool;
    let tenantId: string;
    let runId: string;
    let fences: ThreadFences;
    let saver: PostgresCheckpointer;
    let journal: DatabaseToolJournal;
    const pool = () => tenantPool(tenants, tenantId);
    const claim = async () => {
      const { rows } = await pool().query<{ epoch: number }>(
        "update stratagraph.run set epoch = epoch + 1, state = 'running' where id = $1 returning epoch",
        [runId],
      );
      return rows[0]!.epoch;
    };
    const put = (id: string, parent?: string) =>
      saver.put(
        config(parent),
        { ...emptyCheckpoint(), id, channel_values: { a: [id] }, channel_versions: { a: 1 } },
        { source: "loop", step: 0, parents: {} },
        { a: 1 },
      );
    const entry = { threadId, run: "r", step: 0, callId: "c", tool: "t", input: {} };
    const end = { outcome: "success", content: "done", latency_ms: 1 } as never;

    beforeAll(async () => {
      if (!database.available) return;
      const folder = new URL("../../src/storage/platform/migrations/", import.meta.url);
      const migrations = await loadMigrations(folder);
      await migrate(database.shared.pool, { schema, name: "platform", migrations });
      const tables = ["tenant", "agent_instance", "run"];
      tenants = await openTenantPool(database.shared.pool, { schema, tables });
    });

    beforeEach(async () => {
      tenantId = newTenant();
      runId = newTenant();
      await pool().query("insert into stratagraph.tenant (id, name) values ($1, $2)", [
        tenantId,
        tenantId,
      ]);
      await pool().query(
        `insert into stratagraph.agent_instance (id, tenant_id, agent, thread_id) values ($1, $2, 'a', $3)`,
        [runId, tenantId, threadId],
      );
      await pool().query(
        `insert into stratagraph.run (id, tenant_id, instance_id, thread_id, seq, kind, request)
        values ($1, $2, $1, $3, 1, 'turn', '{}')`,
        [runId, tenantId, threadId],
      );
      fences = new ThreadFences(schema);
      const options = { schema, tenantId, fences };
      saver = new PostgresCheckpointer(database.shared.pool, options);
      journal = new DatabaseToolJournal(database.shared.pool, options);
    });

    test("is written under the newest claim, and by nothing under an older one", async () => {
      fences.fence(threadId, { runId, epoch: await claim() });
      const [first, second] = [uuid6(1), uuid6(2)];
      await put(first);
      await journal.begin({ ...entry, idempotent: false });
      const stored = async () => (await collect(saver.exportThread(threadId))).slice(1, -1);
      const lines = await stored();
      await claim();
      const picture = { bytes: Buffer.from("x"), mimeType: "image/png" };
      for (const write of [
        () => put(second, first),
        () => saver.putWrites(config(first), [["a", 1]], "task"),
        () => saver.putWrites(config(first), [["__error__", { message: "bad" }]], "task"),
        () => saver.blobs.put(threadId, picture),
        () => journal.begin({ ...entry, callId: "other", idempotent: true }),
        () => journal.end({ ...entry, idempotent: false }, end),
        () => journal.withdraw(entry),
      ]) {
        await expect(write()).rejects.toThrow(LeaseLostError);
      }
      await expect(put(second, first)).rejects.toMatchObject({
        code: "lease_lost",
        kind: "run",
        runId,
        epoch: 1,
      });
      expect(await stored()).toEqual(lines);
      expect(await journal.entriesOf(threadId)).toMatchObject([{ callId: "c", state: "started" }]);
      fences.release(threadId);
      await put(second, first);
      expect((await saver.getTuple(config()))!.checkpoint.id).toBe(second);
    });

    test.each(["queued", "cancelled", "dead", "complete"])(
      "is written by no claim on a run that is %s, though its epoch is the newest",
      async (state) => {
        fences.fence(threadId, { runId, epoch: await claim() });
        await put(uuid6(1));
        // The lease ended, and another run of the thread may be claimed now.
        await pool().query("update stratagraph.run set state = $2 where id = $1", [runId, state]);
        await expect(put(uuid6(2), uuid6(1))).rejects.toThrow(LeaseLostError);
        const call = { ...entry, callId: state, idempotent: false };
        await expect(journal.begin(call)).rejects.toThrow(LeaseLostError);
      },
    );

    test("is refused to a claim on a run that is another tenant's, or gone", async () => {
      const epoch = await claim();
      const other = new PostgresCheckpointer(database.shared.pool, {
        schema,
        tenantId: newTenant(),
        fences,
      });
      fences.fence(threadId, { runId, epoch });
      await expect(other.putWrites(config(uuid6(1)), [["a", 1]], "task")).rejects.toThrow(
        LeaseLostError,
      );
      await pool().query("delete from stratagraph.run");
      await expect(put(uuid6(1))).rejects.toThrow(LeaseLostError);
      expect(() => fences.fence(threadId, { runId: "' or true", epoch })).toThrow(RangeError);
    });

    test("ends the run of a graph whose claim is lost, with what it wrote before", async () => {
      fences.fence(threadId, { runId, epoch: await claim() });
      const failures: unknown[] = [];
      const stop = saver.watchRun(threadId, (error) => failures.push(error));
      const graph = loopGraph(saver);
      let steps = 0;
      for await (const _ of await graph.stream({ topic: "cats", left: 9 }, config())) {
        steps += 1;
        if (steps === 3) await claim();
        if (failures.length > 0) break;
      }
      stop();
      expect(failures).toEqual([expect.any(LeaseLostError)]);
      fences.release(threadId);
      expect((await saver.verifyThread(threadId)).damaged).toEqual([]);
    });

    test.skipIf(database.kind === "pglite")(
      "lets a new claim wait for a write that is under way",
      async () => {
        fences.fence(threadId, { runId, epoch: await claim() });
        await saver.setup();
        const holder = await database.shared.pool.connect();
        try {
          // Holds up the put within its statement.
          await holder.query("begin; lock table stratagraph.checkpoint_elements in exclusive mode");
          const writing = put(uuid6(1));
          const waiting = async (count: number) =>
            await expect
              .poll(async () => {
                const { rows } = await database.shared.pool.query<{ n: number }>(
                  `select count(*)::int as n from pg_stat_activity
                  where datname = current_database() and wait_event_type = 'Lock'`,
                );
                return rows[0]!.n;
              })
              .toBe(count);
          await waiting(1);
          let claimed = false;
          const claiming = claim().then((epoch) => {
            claimed = true;
            return epoch;
          });
          await waiting(2);
          expect(claimed).toBe(false);
          await holder.query("commit");
          await writing;
          expect(await claiming).toBe(2);
        } finally {
          holder.release();
        }
        await expect(put(uuid6(2), uuid6(1))).rejects.toThrow(LeaseLostError);
      },
    );
  });
}
