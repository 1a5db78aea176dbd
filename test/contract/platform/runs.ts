import { beforeEach, describe, expect, test } from "vitest";
import {
  ConflictError,
  InvalidValueError,
  NotFoundError,
} from "../../../src/storage/platform/errors.ts";
import type { DatabasePool, QueryConfig } from "../../../src/storage/pool.ts";
import { RunClaims } from "../../../src/storage/platform/runs/claims.ts";
import { withAllTenants } from "../../../src/storage/tenant.ts";
import type { Run } from "../../../src/storage/platform/runs/runs.ts";
import type { PlatformSubject } from "./subject.ts";

const by = { worker: "w", leaseMs: 1_000 };

/** A pool that explains statements, which do what they do and return nothing. `begins`: default, those of claims. */
export function explainingPool(
  pool: DatabasePool,
  onPlan: (text: string) => void,
  begins = "with recursive",
): DatabasePool {
  return {
    query: (...given) => pool.query(...given),
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect();
      return {
        release: () => client.release(),
        async query<Row>(query: string | QueryConfig, values?: readonly unknown[]) {
          const { text, values: own } = typeof query === "string" ? { text: query } : query;
          if (!text.startsWith(begins)) return client.query<Row>(query, values);
          const result = await client.query(
            `explain (analyze, format json) ${text}`,
            values ?? own,
          );
          onPlan(JSON.stringify(result.rows, null, 1));
          return { ...result, rows: [] };
        },
      };
    },
  };
}

/** Runs, from the queue to their end, and their events. */
export function runsContract(subject: PlatformSubject): void {
  describe.skipIf(!subject.database.available)(`runs on ${subject.database.kind}`, () => {
    // Claims take the runs of any tenant: what a test before left is ended.
    beforeEach(async () => {
      const { claims } = subject.platform;
      subject.clock.advance(60_000);
      await claims.releaseExpired();
      for (let run = await claims.claim(by); run !== null; run = await claims.claim(by))
        await claims.finish(run, { state: "cancelled", result: null });
    });

    const start = async () => {
      const { id: tenantId } = await subject.newTenant();
      const { id: instanceId } = await subject.newInstance(tenantId);
      const request = { input: { message: "Hi" } };
      const create = (more = {}) =>
        subject.platform.runs.create(tenantId, { instanceId, request, ...more });
      return { tenantId, instanceId, create };
    };
    const finish = (run: Run, state: "complete" | "awaiting_human" = "complete") =>
      subject.platform.claims.finish(run, { state, result: { output: 1 } });

    test("are numbered on their thread without gaps, however many are created at once", async () => {
      const { tenantId, create } = await start();
      const made = await Promise.all(Array.from({ length: 8 }, () => create()));
      expect(made.map(({ seq }) => seq).toSorted((a, b) => a - b)).toEqual([
        1, 2, 3, 4, 5, 6, 7, 8,
      ]);
      expect(made[0]).toMatchObject({ state: "queued", epoch: 0, kind: "turn", lastEvent: 0 });
      const { items, next } = await subject.platform.runs.list(tenantId, { limit: 5 });
      expect(items).toHaveLength(5);
      const rest = await subject.platform.runs.list(tenantId, { cursor: next!, limit: 3 });
      expect(rest.next).toBeNull();
      expect([...items, ...rest.items].map(({ id }) => id)).toEqual(
        made
          .map(({ id }) => id)
          .toSorted()
          .toReversed(),
      );
    });

    test("are claimed by priority, then by time, and in the order of their thread", async () => {
      const { claims } = subject.platform;
      const [a, b] = [await start(), await start()];
      const first = await a.create();
      const second = await a.create({ priority: 9 });
      const urgent = await b.create({ priority: 5 });
      const later = await b.create({
        runAt: new Date(subject.clock.now().getTime() + 60_000).toISOString(),
      });
      const claimed = await claims.claim(by);
      expect(claimed).toMatchObject({ id: urgent.id, epoch: 1, attempts: 1, worker: "w" });
      expect(await claims.claim(by)).toMatchObject({ id: first.id });
      expect(await claims.claim(by)).toBeNull();
      expect(await finish(await subject.platform.runs.get(a.tenantId, first.id))).toEqual([]);
      expect(await claims.claim(by)).toMatchObject({ id: second.id });
      await finish(claimed!);
      expect(await claims.claim(by)).toBeNull();
      subject.clock.advance(60_000);
      expect(await claims.claim(by)).toMatchObject({ id: later.id });
    });

    /** Queues a run on each of some new threads. */
    const queue = async (tenantId: string, threads: number) => {
      const { instances, runs } = subject.platform;
      for (let thread = 0; thread < threads; thread += 1) {
        const threadId = `thread-${thread}`;
        const { id: instanceId } = await instances.create(tenantId, { threadId, agent: "a" });
        await runs.create(tenantId, { instanceId, request: {} });
      }
    };

    test("are claimed from each tenant in turn, however many one has queued", async () => {
      const [many, few] = [await start(), await start()];
      await queue(many.tenantId, 6);
      subject.clock.advance(1);
      await queue(few.tenantId, 2);
      const claimed: string[] = [];
      // One worker, which ends each run before it takes the next.
      for (let n = 0; n < 4; n += 1) {
        const run = await subject.platform.claims.claim(by);
        claimed.push(run!.tenantId);
        await finish(run!);
      }
      expect(claimed.filter((tenantId) => tenantId === few.tenantId)).toHaveLength(2);
    });

    test("are claimed from the tenant with the fewest running runs", async () => {
      const { claims } = subject.platform;
      const [busy, idle] = [await start(), await start()];
      await queue(busy.tenantId, 4);
      for (let n = 0; n < 3; n += 1) await claims.claim(by);
      await queue(idle.tenantId, 3);
      const claimed = [await claims.claim(by), await claims.claim(by), await claims.claim(by)];
      expect(claimed.map((run) => run?.tenantId)).toEqual(Array(3).fill(idle.tenantId));
      expect((await claims.claim(by))?.tenantId).toBe(busy.tenantId);
    });

    test("wait while their tenant is suspended, and hold up no other", async () => {
      const { claims, tenants } = subject.platform;
      const [suspended, other] = [await start(), await start()];
      const { id } = await suspended.create({ priority: 9 });
      await tenants.suspend(suspended.tenantId);
      const { id: next } = await other.create();
      expect(await claims.claim(by)).toMatchObject({ id: next });
      expect(await claims.claim(by)).toBeNull();
      await tenants.resume(suspended.tenantId);
      expect(await claims.claim(by)).toMatchObject({ id });
    });

    test("are claimed without reading the queue, however long it is", async () => {
      const { tables } = subject.platform;
      const { tenantId, instanceId } = await start();
      const { pool } = tables.tenants;
      await withAllTenants(pool, (client) =>
        client.query(
          `insert into ${tables.schema}.run (id, tenant_id, instance_id, thread_id, seq, kind, request, run_at)
          select gen_random_uuid(), $1::uuid, $2::uuid, 'long-' || n, 1, 'turn', '{}', $3 from generate_series(1, 3000) n`,
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
        {
          values: subject.platform.values,
          events: subject.platform.events,
          partitions: subject.platform.partitions,
        },
      );
      expect(await explained.claim(by)).toBeNull();
      // Rows that a node returned or removed, each time it ran.
      const rows = [...plan.matchAll(/"(?:Actual Rows|Rows Removed by Filter)": (\d+)/g)];
      expect(rows.length).toBeGreaterThan(5);
      expect(Math.max(...rows.map(([, count]) => Number(count)))).toBeLessThan(50);
      expect(plan).not.toContain('"Seq Scan"');
      await withAllTenants(pool, (client) =>
        client.query(`delete from ${tables.schema}.run where thread_id like 'long-%'`),
      );
    });

    test("end with a result, and continue with a new request", async () => {
      const { runs, claims } = subject.platform;
      const { tenantId, instanceId, create } = await start();
      const { id: runId } = await create();
      const again = { runId, kind: "resume" as const, request: { answers: { a: 1 } } };
      await expect(runs.requeue(tenantId, again)).rejects.toThrow(ConflictError);
      const run = await claims.claim(by);
      await expect(runs.requeue(tenantId, again)).rejects.toThrow("got running");
      expect(await finish(run!, "awaiting_human")).toEqual([]);
      expect(await runs.get(tenantId, runId)).toMatchObject({
        state: "awaiting_human",
        result: { output: 1 },
        endedAt: null,
        worker: null,
      });
      await expect(runs.requeue(tenantId, { ...again, from: ["complete"] })).rejects.toThrow(
        "Expected the run as complete, got awaiting_human.",
      );
      expect(await runs.requeue(tenantId, again)).toMatchObject({ state: "queued", attempts: 0 });
      const resumed = await claims.claim(by);
      expect(resumed).toMatchObject({ epoch: 2, kind: "resume", request: again.request });
      await finish(resumed!);
      const { request: _request, result: _result, ...ended } = await runs.get(tenantId, runId);
      expect(ended.endedAt).toBe(subject.clock.now().toISOString());
      const lists = [{ instanceId }, { state: "complete" as const }, { threadId: ended.threadId }];
      for (const filter of lists)
        expect((await runs.list(tenantId, filter)).items).toEqual([ended]);
      expect((await runs.list(tenantId, { state: "failed" })).items).toEqual([]);
      const both = { state: ["failed", "complete"] as const };
      expect((await runs.list(tenantId, both)).items).toEqual([ended]);
      const { agentId } = (await subject.platform.agents.list(tenantId)).items[0]!;
      expect((await runs.list(tenantId, { agentId })).items).toEqual([ended]);
      expect((await runs.list(tenantId, { agentId: runId })).items).toEqual([]);
    });

    test("return to the queue before their lease has ended if those of all workers are released", async () => {
      const { runs, claims } = subject.platform;
      const { tenantId, create } = await start();
      const { id } = await create();
      const claim = (await claims.claim(by))!;
      expect(await claims.releaseExpired({ isAll: true })).toBeGreaterThan(0);
      expect((await runs.get(tenantId, id)).state).toBe("queued");
      expect((await claims.claim(by))!.epoch).toBe(claim.epoch + 1);
    });

    test("are written by their newest claim alone", async () => {
      const { runs, claims, events } = subject.platform;
      const { tenantId, create } = await start();
      await create();
      const frozen = (await claims.claim(by))!;
      const status = [{ event: "status", data: { n: 1 } }];
      expect(await events.append(frozen, status)).toMatchObject([{ seq: 1, ...status[0] }]);
      subject.clock.advance(999);
      expect(await claims.releaseExpired()).toBe(0);
      expect(await claims.renew(frozen, { leaseMs: 1_000 })).toBe(true);
      subject.clock.advance(1_000);
      expect(await claims.releaseExpired()).toBe(1);
      const writes = async () => [
        await claims.renew(frozen, { leaseMs: 1_000 }),
        await claims.finish(frozen, {
          state: "complete",
          result: {},
          events: [{ event: "done", data: {} }],
        }),
        await claims.handOver(frozen),
        await events.append(frozen, [{ event: "status", data: {} }]),
        await claims.isCancelRequested(frozen),
      ];
      const nothing = [false, null, false, null, null];
      expect(await writes()).toEqual(nothing);
      const taken = (await claims.claim({ ...by, worker: "other" }))!;
      expect(taken).toMatchObject({ id: frozen.id, epoch: 2, attempts: 2, lastEvent: 1 });
      expect(await writes()).toEqual(nothing);
      const last = { state: "complete" as const, result: null };
      const done = [{ event: "done", data: { ok: true } }];
      const finished = await claims.finish(taken, { ...last, events: done });
      expect(await claims.finish(taken, { ...last, events: done })).toBeNull();
      expect(await events.append(taken, done)).toBeNull();
      const stored = await events.read(tenantId, frozen.id);
      expect(stored).toMatchObject([
        { seq: 1, event: "status", data: { n: 1 } },
        { seq: 2, event: "done", data: { ok: true } },
      ]);
      expect(finished).toEqual([{ ...stored[1], json: '{"ok":true}' }]);
      expect(await runs.get(tenantId, frozen.id)).toMatchObject({ lastEvent: 2, result: null });
    });

    test("count the workers that died with them, and are dead if their last one says so", async () => {
      const { runs, claims } = subject.platform;
      const { tenantId, create } = await start();
      const { id: runId } = await create();
      for (let attempt = 1; attempt <= 5; attempt += 1) {
        expect(await claims.claim(by)).toMatchObject({ attempts: attempt });
        subject.clock.advance(1_000);
        expect(await claims.releaseExpired()).toBe(1);
      }
      const last = (await claims.claim(by))!;
      expect(last).toMatchObject({ attempts: 6, epoch: 6 });
      expect(await claims.finish(last, { state: "dead", result: null })).toEqual([]);
      expect(await claims.claim(by)).toBeNull();
      const dead = await runs.get(tenantId, runId);
      expect(dead).toMatchObject({ state: "dead", endedAt: expect.any(String) });
      await runs.requeue(tenantId, { runId, kind: "turn", request: {}, from: ["dead"] });
      const run = await claims.claim(by);
      expect(run).toMatchObject({ epoch: 7, attempts: 1 });
      expect(await claims.handOver(run!)).toBe(true);
      expect(await claims.claim(by)).toMatchObject({ epoch: 8, attempts: 1 });
    });

    test("wait for the turn of another run on their thread, however late it was queued again", async () => {
      const { runs, claims } = subject.platform;
      const { tenantId, create } = await start();
      const first = await create();
      const { id: second } = await create();
      await finish((await claims.claim(by))!, "awaiting_human");
      expect(await claims.claim(by)).toBeNull();
      subject.clock.advance(5_000);
      await runs.requeue(tenantId, { runId: first.id, kind: "resume", request: {} });
      // Another worker looked a moment before.
      subject.clock.advance(-5_000);
      expect(await claims.claim(by)).toBeNull();
      subject.clock.advance(5_000);
      const resumed = (await claims.claim(by))!;
      expect(resumed.id).toBe(first.id);
      await finish(resumed);
      expect((await claims.claim(by))?.id).toBe(second);
    });

    test("are cancelled at once in the queue, and by their worker while they run", async () => {
      const { runs, claims } = subject.platform;
      const { tenantId, create } = await start();
      const { id } = await create();
      const { run, was } = await runs.requestCancel(tenantId, id);
      expect([was, run.state]).toEqual(["queued", "cancelled"]);
      expect(await claims.claim(by)).toBeNull();
      const { id: second } = await create();
      const running = (await claims.claim(by))!;
      expect(await claims.isCancelRequested(running)).toBe(false);
      expect(await runs.requestCancel(tenantId, second)).toMatchObject({ was: "running" });
      expect(await claims.isCancelRequested(running)).toBe(true);
      subject.clock.advance(1_000);
      await claims.releaseExpired();
      const next = await claims.claim(by);
      expect(next).toMatchObject({ id: second, cancelRequestedAt: expect.any(String) });
      subject.clock.advance(1_000);
      await claims.releaseExpired();
      const { run: ended } = await runs.requestCancel(tenantId, second);
      expect(ended).toMatchObject({ state: "cancelled" });
      const { run: still } = await runs.requestCancel(tenantId, id);
      expect(still.cancelRequestedAt).toBe(run.cancelRequestedAt);
    });

    test("belong to their tenant", async () => {
      const { runs, events, claims } = subject.platform;
      const { id: other } = await subject.newTenant();
      const { instanceId, create } = await start();
      const { id } = await create();
      const claim = (await claims.claim(by))!;
      await events.append(claim, [{ event: "status", data: {} }]);
      await expect(runs.create(other, { instanceId, request: {} })).rejects.toThrow(NotFoundError);
      await expect(runs.get(other, id)).rejects.toThrow(NotFoundError);
      await expect(runs.requestCancel(other, id)).rejects.toThrow(NotFoundError);
      const again = { runId: id, kind: "turn" as const, request: {} };
      await expect(runs.requeue(other, again)).rejects.toThrow(NotFoundError);
      expect(await events.read(other, id)).toEqual([]);
      expect(await events.append({ ...claim, tenantId: other }, [])).toBeNull();
      const last = { state: "complete" as const, result: null };
      expect(await claims.finish({ ...claim, tenantId: other }, last)).toBeNull();
    });

    test("have events in order, which are read in parts", async () => {
      const { events, claims } = subject.platform;
      const { tenantId, create } = await start();
      await create();
      const claim = (await claims.claim(by))!;
      const some = (from: number, count: number) =>
        Array.from({ length: count }, (_, at) => ({ event: "message", data: { n: from + at } }));
      await Promise.all([
        events.append(claim, some(0, 3)),
        events.append(claim, some(3, 2)),
        events.append(claim, []),
      ]);
      const all = await events.read(tenantId, claim.id);
      expect(all.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5]);
      expect(await events.read(tenantId, claim.id, { after: 2, limit: 2 })).toEqual(
        all.slice(2, 4),
      );
      // Each has seven bytes of JSON: the one at which the limit is reached is the last.
      for (const [maxBytes, count] of [
        [1, 1],
        [14, 2],
        [15, 3],
      ] as const)
        expect(await events.read(tenantId, claim.id, { maxBytes })).toEqual(all.slice(0, count));
      await expect(events.append(claim, some(0, 1_001))).rejects.toThrow(InvalidValueError);
      for (const limit of [0, 1_001])
        await expect(events.read(tenantId, claim.id, { limit })).rejects.toThrow(InvalidValueError);
      const ofBytes = (bytes: number) => {
        const text = "x".repeat(bytes - JSON.stringify({ text: "" }).length);
        return [{ event: "message", data: { text } }];
      };
      expect(await events.append(claim, ofBytes(1_048_576))).toMatchObject([{ seq: 6 }]);
      await expect(events.append(claim, ofBytes(1_048_577))).rejects.toThrow(InvalidValueError);
    });

    test.each([{ priority: 1.5 }, { runAt: "soon" }, { metadata: { a: "\0" } }])(
      "refuse %j",
      async (more) => {
        const { create } = await start();
        await expect(create(more)).rejects.toThrow(InvalidValueError);
      },
    );
  });
}
