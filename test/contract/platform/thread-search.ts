import { describe, expect, test } from "vitest";
import { runStates } from "../../../src/storage/platform/runs/run-rows.ts";
import { ThreadSearch, threadStates } from "../../../src/storage/platform/runs/thread-search.ts";
import { withAllTenants } from "../../../src/storage/tenant.ts";
import { Instances } from "../../../src/storage/platform/runs/instances.ts";
import { explainingPool } from "./runs.ts";
import type { PlatformSubject } from "./subject.ts";

/** Threads as LangGraph's protocol searches for them. */
export function threadSearchContract(subject: PlatformSubject): void {
  describe.skipIf(!subject.database.available)(`threads on ${subject.database.kind}`, () => {
    const execute = (text: string, values: readonly unknown[] = []) =>
      withAllTenants(subject.platform.tables.tenants.pool, (client) => client.query(text, values));

    test("have a state by their runs, which a filter and an order know", async () => {
      const { threads, runs, tables } = subject.platform;
      const { id: tenantId } = await subject.newTenant();
      const made = async (...states: readonly string[]) => {
        const { id: instanceId, threadId } = await subject.newInstance(tenantId);
        for (const state of states) {
          const { id } = await runs.create(tenantId, { instanceId, request: {} });
          await execute(`update ${tables.schema}.run set state = $2 where id = $1`, [id, state]);
        }
        return threadId;
      };
      const expected = new Map<string, string>([[await made(), "idle"]]);
      const ofState = {
        queued: "busy",
        running: "busy",
        awaiting_human: "interrupted",
        awaiting_tool: "interrupted",
        awaiting_event: "interrupted",
        complete: "idle",
        failed: "error",
        cancelled: "idle",
        dead: "error",
      };
      for (const state of runStates) expected.set(await made(state), ofState[state]);
      expected.set(await made("failed", "complete"), "idle");
      expected.set(await made("awaiting_human", "failed"), "error");
      expected.set(await made("running", "cancelled"), "busy");
      const all = await threads.search(tenantId, { limit: 100, sortBy: "status", order: "asc" });
      expect(new Map(all.map(({ threadId, state }) => [threadId, state]))).toEqual(expected);
      const states = all.map(({ state }) => state);
      expect(states).toEqual(states.toSorted());
      for (const state of threadStates) {
        const found = await threads.search(tenantId, { limit: 100, state });
        const some = [...expected].filter(([, one]) => one === state).map(([id]) => id);
        expect(found.map(({ threadId }) => threadId).toSorted()).toEqual(some.toSorted());
        expect(await threads.count(tenantId, { state })).toBe(some.length);
      }
    });

    test("are found without reading other threads, however many there are", async () => {
      const { tables, values } = subject.platform;
      const [own, other] = [await subject.newTenant(), await subject.newTenant()];
      for (const [tenant, minutes] of [
        [own, 0],
        [other, 60],
      ] as const) {
        await execute(
          `with made as (
            insert into ${tables.schema}.agent_instance (id, tenant_id, thread_id, agent, created_at, updated_at)
            select ($2::text || lpad(to_hex(n), 12, '0'))::uuid, $1::uuid, 'thread ' || n, 'a', t, t
            from (select n, now() + n * interval '1 ms' + $3 * interval '1 min' as t from generate_series(1, 3000) n) s returning *)
          insert into ${tables.schema}.run (id, tenant_id, instance_id, thread_id, seq, kind, request, state)
          select gen_random_uuid(), tenant_id, id, thread_id, 1, 'turn', '{}', 'complete' from made`,
          [tenant.id, `ffffffff-ffff-700${minutes === 0 ? 0 : 1}-8000-`, minutes],
        );
      }
      const { pool } = tables.tenants;
      for (const table of ["agent_instance", "run"])
        await pool.query(`analyze ${tables.schema}.${table}`);
      for (const sortBy of ["created_at", "updated_at", "thread_id"] as const) {
        let plan = "";
        const explained = explainingPool(pool, (text) => (plan = text), "select id");
        const tenants = { ...tables.tenants, pool: explained };
        const search = new ThreadSearch({ ...tables, tenants }, values);
        expect(await search.search(own.id, { limit: 11, sortBy })).toEqual([]);
        // Rows that a node returned or removed, each time it ran.
        const rows = [...plan.matchAll(/"(?:Actual Rows|Rows Removed by Filter)": (\d+)/g)];
        expect(rows.length).toBeGreaterThan(3);
        expect(Math.max(...rows.map(([, count]) => Number(count)))).toBeLessThan(50);
      }
      let plan = "";
      const explained = explainingPool(pool, (text) => (plan = text), "select i.id");
      const tenants = { ...tables.tenants, pool: explained };
      const instances = new Instances({ ...tables, tenants }, values);
      const before = new Date("2100-01-01");
      expect(await instances.endedEphemeral({ before, limit: 11 })).toEqual([]);
      expect(plan).toContain("Index Scan");
      expect(plan).not.toContain('"Seq Scan"');
      await execute(`delete from ${tables.schema}.agent_instance where thread_id like 'thread %'`);
    });

    test("of stateless runs are listed from the one that ended first, page by page", async () => {
      const { instances, runs, tables } = subject.platform;
      const { id: tenantId } = await subject.newTenant();
      const at = (seconds: number) => new Date(Date.UTC(2000, 0, 1, 0, 0, seconds));
      const make = async (threadId: string, seconds: number, isEphemeral = true) => {
        const { id } = await instances.create(tenantId, { threadId, agent: "a", isEphemeral });
        const { id: runId } = await runs.create(tenantId, { instanceId: id, request: {} });
        const state = threadId === "runs" ? "running" : "complete";
        await execute(`update ${tables.schema}.run set state = $2 where id = $1`, [runId, state]);
        await execute(`update ${tables.schema}.agent_instance set updated_at = $2 where id = $1`, [
          id,
          at(seconds),
        ]);
      };
      await make("third", 2);
      await make("first", 0);
      await make("second", 1);
      await make("runs", 0);
      await make("stays", 0, false);
      await make("late", 3);
      const found: string[] = [];
      let after: Parameters<typeof instances.endedEphemeral>[0]["after"];
      for (let page = 0; page < 4; page += 1) {
        const of = { before: at(3), limit: 1, ...(after && { after }) };
        const [one] = await instances.endedEphemeral(of);
        if (one === undefined) break;
        expect(one.tenantId).toBe(tenantId);
        found.push(one.threadId);
        after = one;
      }
      expect(found).toEqual(["first", "second", "third"]);
    });
  });
}
