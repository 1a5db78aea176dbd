import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { beforeAll, describe, expect, test } from "vitest";
import { PostgresCheckpointer } from "../../checkpointers/postgres.ts";
import { loadMigrations, migrate } from "../../src/storage/migrate.ts";
import { defaultTenant, openTenantPool } from "../../src/storage/tenant.ts";
import { tenantPool, ThreadFences } from "../../src/storage/tenant-pool.ts";
import type { TestDatabase } from "../helpers/databases.ts";
import { faultyPool } from "../helpers/faulty-pool.ts";
import { newTenant } from "./memory-store.ts";

const schema = "stratagraph";
const config = (checkpoint_id?: string) => ({
  configurable: { thread_id: "t", checkpoint_ns: "", ...(checkpoint_id && { checkpoint_id }) },
});

/** Statements with which a saver reads the newest checkpoint of a thread that it has claimed. */
export function newestCheckpointContract(database: TestDatabase): void {
  describe.skipIf(!database.available)(`the newest checkpoint on ${database.kind}`, () => {
    const runId = newTenant();
    beforeAll(async () => {
      if (!database.available) return;
      const { pool } = database.shared;
      const folder = new URL("../../src/storage/platform/migrations/", import.meta.url);
      const migrations = await loadMigrations(folder);
      await migrate(pool, { schema, name: "platform", migrations });
      const tables = ["tenant", "agent_instance", "run"];
      const tenants = await openTenantPool(pool, { schema, tables });
      const own = tenantPool(tenants, defaultTenant);
      const ids = [runId, defaultTenant];
      await own.query(
        "insert into stratagraph.tenant (id, name) values ($1, 'mine') on conflict do nothing",
        [defaultTenant],
      );
      await own.query(
        "insert into stratagraph.agent_instance (id, tenant_id, agent, thread_id) values ($1, $2, 'a', 't')",
        ids,
      );
      await own.query(
        `insert into stratagraph.run (id, tenant_id, instance_id, thread_id, seq, kind, request, state, epoch)
        values ($1, $2, $1, 't', 1, 'turn', '{}', 'running', 1)`,
        ids,
      );
    });

    test("is read once between writes under a claim, and each time without one", async () => {
      const fences = new ThreadFences(schema);
      const pool = faultyPool(database.shared.pool);
      const saver = new PostgresCheckpointer(pool, { schema, fences, cacheBytes: 0 });
      const put = (id: string, parent?: string) =>
        saver.put(
          config(parent),
          { ...emptyCheckpoint(), id, channel_values: { a: id }, channel_versions: { a: 1 } },
          { source: "loop", step: 0, parents: {} },
          { a: 1 },
        );
      /** Reads it twice; returns its id, its pending writes and whether each read took statements. */
      const read = async () => {
        const reads = [];
        for (let at = 0; at < 2; at += 1) {
          pool.arm(0, "before");
          const { checkpoint, pendingWrites = [] } = (await saver.getTuple(config()))!;
          const writes = pendingWrites.map(([, , value]) => value);
          reads.push({ id: checkpoint.id, writes, isRead: pool.statements > 0 });
        }
        return reads;
      };
      const [first, second] = [uuid6(1), uuid6(2)];
      fences.fence("t", { runId, epoch: 1 });
      const both = (id: string, writes: readonly unknown[], again = false) =>
        [true, again].map((isRead) => ({ id, writes, isRead }));
      await put(first);
      expect(await read()).toEqual(both(first, []));
      await saver.putWrites(config(first), [["a", 1]], "task");
      expect(await read()).toEqual(both(first, [1]));
      await saver.putWrites(config(first), [["__error__", { message: "bad" }]], "task");
      expect((await read()).map(({ writes, isRead }) => [writes.length, isRead])).toEqual([
        [2, true],
        [2, false],
      ]);
      await put(second, first);
      expect(await read()).toEqual(both(second, []));
      expect((await saver.getTuple(config(first)))!.checkpoint.id).toBe(first);
      await saver.rollBackRun({ threadId: "t", runId: newTenant(), restored: [] });
      expect(await read()).toEqual(both(second, []));
      fences.release("t");
      expect(await read()).toEqual(both(second, [], true));
    });
  });
}
