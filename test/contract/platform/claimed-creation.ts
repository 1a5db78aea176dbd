import { beforeEach, describe, expect, test } from "vitest";
import { NotFoundError } from "../../../src/storage/platform/errors.ts";
import { Runs } from "../../../src/storage/platform/runs/runs.ts";
import type { DatabasePool, QueryConfig } from "../../../src/storage/pool.ts";
import type { PlatformSubject } from "./subject.ts";

const by = { worker: "w", leaseMs: 1_000 };
const request = { input: { message: "Hi" } };

/** Runs that are claimed with their creation, and those that are not. */
export function claimedCreationContract(subject: PlatformSubject): void {
  const { database } = subject;
  describe.skipIf(!database.available)(`a run created with a claim on ${database.kind}`, () => {
    beforeEach(async () => {
      const { claims } = subject.platform;
      subject.clock.advance(60_000);
      await claims.releaseExpired();
      for (let run = await claims.claim(by); run !== null; run = await claims.claim(by))
        await claims.finish(run, { state: "cancelled", result: null });
    });

    const start = async () => {
      const { id: tenantId } = await subject.newTenant();
      const { id: instanceId, threadId } = await subject.newInstance(tenantId);
      const { runs, claims } = subject.platform;
      const create = (more = {}) => runs.create(tenantId, { instanceId, request, ...more }, by);
      /** Ends a run that a worker has, as waiting for answers. */
      const wait = (run: Awaited<ReturnType<typeof create>>) =>
        claims.finish(run, { state: "awaiting_human", result: {} });
      return { tenantId, instanceId, threadId, create, wait };
    };
    const queued = { state: "queued", epoch: 0, attempts: 0, worker: null, leaseUntil: null };
    const inFuture = () => new Date(subject.clock.now().getTime() + 1).toISOString();

    test("is its worker's at once, and no other's", async () => {
      const { tenantId, create } = await start();
      const run = await create({ runAt: subject.clock.now().toISOString() });
      const now = subject.clock.now();
      const leaseUntil = new Date(now.getTime() + 1_000).toISOString();
      expect(run).toMatchObject({
        seq: 1,
        state: "running",
        epoch: 1,
        attempts: 1,
        worker: "w",
        leaseUntil,
        startedAt: now.toISOString(),
      });
      const { claims, events, runs } = subject.platform;
      expect(await claims.claim(by)).toBeNull();
      expect(await events.append(run, [{ event: "status", data: {} }])).toHaveLength(1);
      subject.clock.advance(1_000);
      expect(await claims.releaseExpired()).toBe(1);
      expect(await claims.claim(by)).toMatchObject({ id: run.id, epoch: 2, attempts: 2 });
      expect(await runs.get(tenantId, run.id)).toMatchObject({ startedAt: now.toISOString() });
    });

    test("is queued without a claim, before its time, and while its tenant is suspended", async () => {
      const [late, suspended] = [await start(), await start()];
      expect(await late.create({ runAt: inFuture() })).toMatchObject(queued);
      // One that begins later does not come first.
      expect(await late.create()).toMatchObject({ seq: 2, state: "running" });
      await subject.platform.tenants.suspend(suspended.tenantId);
      expect(await suspended.create()).toMatchObject({ ...queued, startedAt: null });
      const { instanceId, tenantId } = await start();
      expect(await subject.platform.runs.create(tenantId, { instanceId, request })).toMatchObject(
        queued,
      );
    });

    test.each(["turn", "graph"])(
      "of kind %s is queued behind a run that executes or is due",
      async (kind) => {
        const { create } = await start();
        const first = await create();
        const second = await create({ kind });
        expect(second).toMatchObject({ ...queued, seq: 2 });
        await subject.platform.claims.finish(first, { state: "complete", result: null });
        // The second is due, and has not been claimed.
        expect(await create({ kind, priority: 9 })).toMatchObject({ ...queued, seq: 3 });
        expect(await subject.platform.claims.claim(by)).toMatchObject({ id: second.id });
      },
    );

    test("is queued behind one that waits for answers, or resumes, unless it is of a graph", async () => {
      const { create, wait } = await start();
      await wait(await create());
      expect(await create({ runAt: inFuture() })).toMatchObject(queued);
      expect(await create({ kind: "replay" })).toMatchObject(queued);
      const [graph, resumed] = [await start(), await start()];
      await wait(await graph.create());
      expect(await graph.create({ kind: "graph" })).toMatchObject({ seq: 2, state: "running" });
      const waiting = await resumed.create();
      await wait(waiting);
      const again = { runId: waiting.id, kind: "resume" as const, request };
      await subject.platform.runs.requeue(resumed.tenantId, again);
      // However late it was queued again by another clock.
      subject.clock.advance(-5_000);
      expect(await resumed.create({ kind: "graph" })).toMatchObject(queued);
      subject.clock.advance(5_000);
    });

    test("is not held up by threads of the same name of other tenants", async () => {
      const [one, other] = [await start(), await start()];
      await one.create();
      const { id: instanceId } = await subject.newInstance(other.tenantId, one.threadId);
      const made = subject.platform.runs.create(other.tenantId, { instanceId, request }, by);
      expect(await made).toMatchObject({ seq: 1, state: "running" });
    });

    test("is claimed once, however many are created at once", async () => {
      const { create } = await start();
      const made = await Promise.all(Array.from({ length: 6 }, () => create()));
      expect(made.map(({ state }) => state).toSorted()).toEqual([
        ...Array<string>(5).fill("queued"),
        "running",
      ]);
      expect(made.find(({ seq }) => seq === 1)?.state).toBe("running");
    });

    test("is queued if another worker takes a run of its thread meanwhile", async () => {
      const { tenantId, instanceId } = await start();
      const { tables, values, events, partitions } = subject.platform;
      let races = 0;
      const pool = conflictingPool(tables.tenants.pool, () => (races += 1));
      const racing = { ...tables, tenants: { ...tables.tenants, pool } };
      const runs = new Runs(racing, values, { events, partitions });
      expect(await runs.create(tenantId, { instanceId, request }, by)).toMatchObject(queued);
      expect(races).toBe(1);
      const { items } = await subject.platform.runs.list(tenantId);
      expect(items).toHaveLength(1);
    });

    test("on a new thread is claimed as well, with an agent of its tenant alone", async () => {
      const [{ tenantId }, { tenantId: other }] = [await start(), await start()];
      const { agents, runs, instances } = subject.platform;
      const made = await agents.create(tenantId, { name: "first", definition: {} });
      const of = (threadId: string) => ({
        threadId,
        agent: "first",
        definitionId: made.id,
        isEphemeral: true,
        request,
      });
      expect(await runs.createOnNewThread(tenantId, of("new"), by)).toMatchObject({
        seq: 1,
        threadId: "new",
        state: "running",
        epoch: 1,
        worker: "w",
      });
      expect(await runs.createOnNewThread(tenantId, of("newer"))).toMatchObject(queued);
      const later = { ...of("late"), runAt: inFuture() };
      expect(await runs.createOnNewThread(tenantId, later, by)).toMatchObject(queued);
      await expect(runs.createOnNewThread(other, of("stolen"), by)).rejects.toThrow(NotFoundError);
      const { items } = await instances.list(other);
      expect(items.map(({ threadId }) => threadId)).not.toContain("stolen");
      expect((await runs.list(other)).items).toEqual([]);
    });
  });
}

/** A pool that answers the first creation of a claimed run with a violation of the index of running runs. */
function conflictingPool(pool: DatabasePool, onRace: () => void): DatabasePool {
  let isDone = false;
  return {
    query: (...given) => pool.query(...given),
    end: () => pool.end(),
    async connect() {
      const client = await pool.connect();
      return {
        release: () => client.release(),
        async query<Row>(query: string | QueryConfig, values?: readonly unknown[]) {
          const text = typeof query === "string" ? query : query.text;
          if (isDone || !/insert into \S+\.run as r/.test(text))
            return client.query<Row>(query, values);
          isDone = true;
          onRace();
          return client.query<Row>(
            "do $$ begin raise unique_violation using constraint = 'run_on_thread'; end $$",
          );
        },
      };
    },
  };
}
