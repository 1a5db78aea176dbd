import { beforeEach, describe, expect, test } from "vitest";
import { RunClaims } from "../../../src/storage/platform/runs/claims.ts";
import type { WorkerEntry } from "../../../src/storage/platform/runs/workers.ts";
import { ConflictError, NotFoundError } from "../../../src/storage/platform/errors.ts";
import { withAllTenants, withTenant } from "../../../src/storage/tenant.ts";
import { explainingPool } from "./runs.ts";
import type { PlatformSubject } from "./subject.ts";

const by = { worker: "w", leaseMs: 60_000 };
const all = { ...by, labels: ["big", "gpu"] };

/** Workers, what they take, and what operators see of them. */
export function workersContract(subject: PlatformSubject): void {
  const { database } = subject;
  describe.skipIf(!database.available)(`workers on ${database.kind}`, () => {
    beforeEach(async () => {
      const { tables } = subject.platform;
      await withAllTenants(tables.tenants.pool, async (client) => {
        await client.query(
          `update ${tables.schema}.run set state = 'cancelled' where state not in ('complete', 'failed', 'cancelled')`,
        );
        await client.query(`delete from ${tables.schema}.worker`);
        await client.query(`delete from ${tables.schema}.queue_count`);
      });
    });

    const start = async (labels?: readonly string[]) => {
      const { agents, instances, runs } = subject.platform;
      const { id: tenantId } = await subject.newTenant();
      const definition = labels ? { execution_config: { worker_labels: labels } } : {};
      const { id: definitionId } = await agents.create(tenantId, { name: "a", definition });
      let threads = 0;
      const create = async (more: object = {}, claim?: typeof by) => {
        const threadId = `t${(threads += 1)}`;
        const of = { threadId, agent: "a", definitionId };
        const { id: instanceId } = await instances.create(tenantId, of);
        return runs.create(tenantId, { instanceId, definitionId, request: {}, ...more }, claim);
      };
      return { tenantId, definitionId, create };
    };
    const finish = (
      run: Parameters<RunClaims["finish"]>[0],
      state: "complete" | "dead" | "awaiting_event",
    ) => subject.platform.claims.finish(run, { state, result: null });

    test("take runs whose labels they have, all of them, and runs without labels", async () => {
      const { claims } = subject.platform;
      const both = await (await start(["gpu", "big", "gpu"])).create({ priority: 9 });
      expect(both.labels).toEqual(["big", "gpu"]);
      const plain = await (await start()).create();
      expect(plain.labels).toEqual([]);
      expect(await claims.claim(by)).toMatchObject({ id: plain.id });
      expect(await claims.claim({ ...by, labels: ["gpu"] })).toBeNull();
      expect(await claims.claim({ ...all, labels: ["gpu", "cpu", "big"] })).toMatchObject({
        id: both.id,
      });
    });

    test("take runs of their kinds alone", async () => {
      const { claims } = subject.platform;
      const { create } = await start();
      const turn = await create();
      const graph = await create({ kind: "graph" });
      expect(await claims.claim({ ...by, kinds: ["graph"] })).toMatchObject({ id: graph.id });
      expect(await claims.claim({ ...by, kinds: ["graph", "replay"] })).toBeNull();
      expect(await claims.claim({ ...by, kinds: ["turn"] })).toMatchObject({ id: turn.id });
    });

    test("claim with its creation a run that they take, and no other", async () => {
      const [plain, gpu] = [await start(), await start(["gpu"])];
      expect(await gpu.create({}, by)).toMatchObject({
        state: "queued",
        epoch: 0,
        labels: ["gpu"],
      });
      expect(await gpu.create({}, all)).toMatchObject({ state: "running", labels: ["gpu"] });
      expect(await plain.create({}, all)).toMatchObject({ state: "running" });
      const graphs = { ...by, kinds: ["graph" as const] };
      expect(await plain.create({}, graphs)).toMatchObject({ state: "queued" });
      const { runs } = subject.platform;
      const first = { threadId: "first", agent: "a", isEphemeral: false, request: {} };
      const made = { ...first, definitionId: gpu.definitionId };
      const created = await runs.createOnNewThread(gpu.tenantId, made, by);
      expect(created).toMatchObject({ state: "queued", labels: ["gpu"] });
    });

    test("take runs by priority, then by time, whatever labels and kinds these have", async () => {
      const { claims } = subject.platform;
      const { create } = await start();
      const gpu = await start(["gpu"]);
      const later = await create();
      subject.clock.advance(-10);
      const sooner = await create({ kind: "graph" });
      const urgent = await create({ priority: 1_000 });
      const middle = await create({ priority: 1, kind: "replay" });
      const last = await gpu.create({ priority: -1_000 });
      subject.clock.advance(10);
      const taken: (string | undefined)[] = [];
      for (let n = 0; n < 5; n += 1) {
        const run = await claims.claim(all);
        taken.push(run?.id);
        await finish(run!, "complete");
      }
      const order = [urgent, middle, sooner, later, last];
      expect(taken).toEqual(order.map(({ id }) => id));
    });

    test("come round to the tenants before the one of the last claim", async () => {
      const { claims } = subject.platform;
      const [a, b, c] = [await start(), await start(["gpu"]), await start()];
      for (const one of [a, b, c]) await one.create();
      for (const one of [a, b, c]) await one.create({ kind: "graph" });
      const taken: string[] = [];
      for (let n = 0; n < 6; n += 1) {
        const run = await claims.claim(all);
        taken.push(run!.tenantId);
        await finish(run!, "complete");
      }
      const ids = [a, b, c].map(({ tenantId }) => tenantId).toSorted();
      expect(taken.slice(0, 3).toSorted()).toEqual(ids);
      expect(taken.slice(3).toSorted()).toEqual(ids);
      expect(await claims.claim(all)).toBeNull();
    });

    test("read no run that they cannot take, however many there are", async () => {
      const { tables, values, events, partitions, instances } = subject.platform;
      const { tenantId, definitionId } = await start(["gpu"]);
      const of = { threadId: "long", agent: "a", definitionId };
      const { id: instanceId } = await instances.create(tenantId, of);
      const { pool } = tables.tenants;
      await withAllTenants(pool, (client) =>
        client.query(
          `insert into ${tables.schema}.run (id, tenant_id, instance_id, thread_id, seq, kind, request, run_at, labels)
          select gen_random_uuid(), $1::uuid, $2::uuid, 'long-' || n, 1, 'turn', '{}', $3, '{gpu}' from generate_series(1, 3000) n`,
          [tenantId, instanceId, subject.clock.now()],
        ),
      );
      await pool.query(`analyze ${tables.schema}.run`);
      let plan = "";
      const explained = new RunClaims(
        {
          ...tables,
          tenants: { ...tables.tenants, pool: explainingPool(pool, (text) => (plan = text)) },
        },
        { values, events, partitions },
      );
      await explained.claim(by);
      const rows = [...plan.matchAll(/"(?:Actual Rows|Rows Removed by Filter)": (\d+)/g)];
      expect(rows.length).toBeGreaterThan(5);
      expect(Math.max(...rows.map(([, count]) => Number(count)))).toBeLessThan(50);
      expect(plan).not.toContain('"Seq Scan"');
      await withAllTenants(pool, (client) =>
        client.query(`delete from ${tables.schema}.run where thread_id like 'long-%'`),
      );
    });

    const entry = (more: Partial<WorkerEntry> = {}): WorkerEntry => {
      const id = subject.platform.tables.ids();
      return {
        id,
        name: `host-1-${id}`,
        host: "host",
        pid: 1,
        version: "1.0.0",
        concurrency: 4,
        running: 0,
        lockKey: null,
        startedAt: subject.clock.now(),
        ...more,
      };
    };

    test("are listed by what they last wrote of themselves, until they end", async () => {
      const { workers } = subject.platform;
      const one = entry({ kinds: ["graph"], labels: ["gpu"] });
      await workers.publish(one);
      await workers.publish({ ...one, running: 3, lockKey: "9007199254740993" });
      const [listed, ...others] = await workers.list();
      expect(others).toEqual([]);
      expect(listed).toMatchObject({
        name: one.name,
        kinds: ["graph"],
        labels: ["gpu"],
        running: 3,
        concurrency: 4,
        isWatched: true,
      });
      expect(listed!.silentMs).toBeGreaterThanOrEqual(0);
      await workers.removeSilent();
      expect(await workers.list()).toHaveLength(1);
      await workers.remove(one.id);
      expect(await workers.list()).toEqual([]);
    });

    test("are removed after a minute of silence if no lock shows their end", async () => {
      const { workers, tables } = subject.platform;
      const [quiet, frozen] = [entry(), entry({ lockKey: "7" })];
      await workers.publish(quiet);
      await workers.publish(frozen);
      await withAllTenants(tables.tenants.pool, (client) =>
        client.query(`update ${tables.schema}.worker set seen_at = now() - interval '61 seconds'`),
      );
      await workers.removeSilent();
      expect((await workers.list()).map(({ name }) => name)).toEqual([frozen.name]);
    });

    test("lose their runs to others once their lock has gone, and one of these puts them back", async () => {
      const { workers, claims, runs } = subject.platform;
      const { tenantId, create } = await start();
      const lost = entry({ lockKey: "4611686018427387905" });
      const made = await create({}, { ...by, worker: lost.name });
      const other = await create({}, by);
      await workers.publish(lost);
      const seen = await workers.look(entry().id);
      expect(seen).toEqual({ lost: [{ id: lost.id, lockKey: lost.lockKey }], isKnown: false });
      expect((await workers.look(lost.id)).isKnown).toBe(true);
      // Another key: the worker has taken a lock since.
      expect(await workers.takeOver({ id: lost.id, lockKey: "5" })).toBeNull();
      const tries = Array.from({ length: 4 }, () => workers.takeOver(seen.lost[0]!));
      const counts = await Promise.all(tries);
      expect(counts.filter((count) => count !== null)).toEqual([1]);
      const back = await runs.get(tenantId, made.id);
      expect(back).toMatchObject({ state: "queued", worker: null, attempts: 1 });
      expect((await runs.get(tenantId, other.id)).state).toBe("running");
      expect(await claims.renew(made, { leaseMs: 1_000 })).toBe(false);
      expect(await claims.claim(by)).toMatchObject({ id: made.id, epoch: 2, attempts: 2 });
      expect(await workers.state()).toMatchObject({ takeovers: 1, endedLeases: 0 });
    });

    // An embedded database has one session, and one process.
    test.skipIf(database.kind === "pglite")(
      "keep their runs while a session holds their lock",
      async () => {
        const { workers } = subject.platform;
        const held = entry({ lockKey: "4611686018427387904" });
        await workers.publish(held);
        const client = await database.shared.pool.connect();
        try {
          await client.query("select pg_advisory_lock(4611686018427387904)");
          expect((await workers.look(entry().id)).lost).toEqual([]);
          expect(await workers.takeOver({ id: held.id, lockKey: held.lockKey! })).toBeNull();
          await client.query("select pg_advisory_unlock(4611686018427387904)");
        } finally {
          client.release();
        }
        expect(await workers.takeOver({ id: held.id, lockKey: held.lockKey! })).toBe(0);
        expect(await workers.list()).toEqual([]);
      },
    );

    test("are seen by no tenant, and the queue of each tenant by itself", async () => {
      const { workers, tables, claims } = subject.platform;
      await workers.publish(entry());
      const [one, other] = [await start(), await start()];
      await one.create();
      for (const table of ["worker", "queue_count"]) {
        const seen = withTenant(tables.tenants, one.tenantId, (client) =>
          client.query(`select from ${tables.schema}.${table}`),
        );
        await expect(seen).rejects.toThrow(`permission denied for table ${table}`);
      }
      await other.create();
      subject.clock.advance(1_000);
      await other.create();
      const hour = new Date(subject.clock.now().getTime() + 3_600_000).toISOString();
      await other.create({ runAt: hour });
      await other.create();
      await finish((await claims.claim(by))!, "dead");
      await finish((await claims.claim(by))!, "awaiting_event");
      await claims.claim(by);
      const nothing = {
        queued: 0,
        delayed: 0,
        running: 0,
        awaitingHuman: 0,
        awaitingTool: 0,
        awaitingEvent: 0,
      };
      const depths = [await workers.depthOf(one.tenantId), await workers.depthOf(other.tenantId)];
      const sum = (name: "queued" | "delayed" | "running" | "awaitingEvent" | "dead") =>
        depths.reduce((total, depth) => total + depth[name], 0);
      expect([sum("queued"), sum("delayed"), sum("running"), sum("dead")]).toEqual([1, 1, 1, 1]);
      expect(sum("awaitingEvent")).toBe(1);
      expect(depths[1]).toMatchObject({ delayed: 1 });
      const state = await workers.state();
      expect(state).toMatchObject({ queued: 1, delayed: 1, running: 1, dead: 1 });
      expect(state.runningBy).toEqual([{ worker: "w", runs: 1 }]);
      const { id: empty } = await subject.newTenant();
      const none = { ...nothing, dead: 0, oldestAt: null };
      expect(await workers.depthOf(empty)).toEqual(none);
    });

    test("count the runs whose leases have ended, and since when the oldest is due", async () => {
      const { workers, claims } = subject.platform;
      const { create } = await start();
      const since = subject.clock.now().toISOString();
      await create({}, by);
      subject.clock.advance(60_000);
      expect(await claims.releaseExpired()).toBe(1);
      expect(await claims.releaseExpired()).toBe(0);
      expect(await workers.state()).toMatchObject({
        endedLeases: 1,
        takeovers: 0,
        oldestAt: since,
      });
    });

    test("take a dead run again once it is retried, which happens once", async () => {
      const { runs, claims } = subject.platform;
      const { tenantId, create } = await start();
      const run = await create({}, by);
      await expect(runs.retry(tenantId, "x")).rejects.toThrow(NotFoundError);
      expect(await runs.retry(tenantId, run.id)).toMatchObject({ isRetried: false });
      await finish(run, "dead");
      expect((await runs.listDead()).items.map(({ id }) => id)).toEqual([run.id]);
      expect(await runs.tenantOf(run.id)).toBe(tenantId);
      const { id: stranger } = await subject.newTenant();
      await expect(runs.retry(stranger, run.id)).rejects.toThrow(NotFoundError);
      const tries = await Promise.all([
        runs.retry(tenantId, run.id),
        runs.retry(tenantId, run.id),
        runs.retry(tenantId, run.id),
      ]);
      expect(tries.filter(({ isRetried }) => isRetried)).toHaveLength(1);
      expect(tries[0].run).toMatchObject({ state: "queued", endedAt: null, request: {} });
      expect((await runs.listDead()).items).toEqual([]);
      // It counts as continued, so that nothing is begun again.
      const again = await claims.claim(by);
      expect(again).toMatchObject({ id: run.id, attempts: 2, epoch: 2 });
      await finish(again!, "complete");
      await expect(runs.retry(tenantId, run.id)).rejects.toThrow(
        "Expected a dead run, got complete",
      );
    });

    test("do not take a dead run again after a later run of its thread", async () => {
      const { runs, claims } = subject.platform;
      const { tenantId, create } = await start();
      const dead = await create({}, by);
      await finish(dead, "dead");
      const { instanceId } = dead;
      const later = await runs.create(tenantId, { instanceId, request: {} });
      expect(await runs.retry(tenantId, dead.id)).toMatchObject({ isRetried: true });
      const first = await claims.claim(by);
      expect(first?.id).toBe(dead.id);
      await finish(first!, "dead");
      expect(await claims.claim(by)).toMatchObject({ id: later.id });
      await expect(runs.retry(tenantId, dead.id)).rejects.toThrow(ConflictError);
    });
  });
}
