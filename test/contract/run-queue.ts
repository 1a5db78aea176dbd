import { beforeEach, describe, expect, test } from "vitest";
import type { ExecuteRun, RunQueue } from "../../src/engine/run-queue.ts";
import type { NewClaim, WorkerScope } from "../../src/storage/platform/runs/create-run.ts";
import type { Platform } from "../../src/storage/platform/open-platform.ts";
import type { Run } from "../../src/storage/platform/runs/runs.ts";
import { withAllTenants } from "../../src/storage/tenant.ts";
import type { PlatformSubject } from "./platform/subject.ts";
import type { ManualClock } from "../helpers/manual-clock.ts";

export interface QueueOptions extends WorkerScope {
  readonly platform: Platform;
  readonly clock: ManualClock;
  readonly worker: string;
  readonly concurrency: number;
  readonly onError: (error: unknown) => void;
}

/** What every queue of runs does, on the tables of a database. */
export function runQueueContract(
  subject: PlatformSubject,
  create: (options: QueueOptions) => RunQueue<Run>,
): void {
  const { database } = subject;
  describe.skipIf(!database.available)(`a queue of runs on ${database.kind}`, () => {
    beforeEach(async () => {
      const { tables } = subject.platform;
      await withAllTenants(tables.tenants.pool, (client) =>
        client.query(
          `update ${tables.schema}.run set state = 'cancelled' where state in ('queued', 'running')`,
        ),
      );
    });

    const start = async () => {
      const { platform, clock } = subject;
      const { id: tenantId } = await subject.newTenant();
      const instance = async () => (await subject.newInstance(tenantId)).id;
      return {
        tenantId,
        instance,
        /** Queues a run, on a thread of its own unless an instance is given. */
        queue: async (more: object = {}) => {
          const of = { instanceId: await instance(), request: {}, ...more };
          return platform.runs.create(tenantId, of);
        },
        stateOf: async (run: Run) => (await platform.runs.get(tenantId, run.id)).state,
        clock,
      };
    };

    /** A queue whose runs end when the test says so. */
    const worker = (name: string, options: Partial<QueueOptions> = {}) => {
      const { platform, clock } = subject;
      const errors: unknown[] = [];
      const ends = new Map<string, () => void>();
      const aborted: string[] = [];
      const drained: string[] = [];
      const queue = create({
        platform,
        clock,
        worker: name,
        concurrency: 4,
        onError: (error) => errors.push(error),
        ...options,
      });
      const execute: ExecuteRun<Run> = async (run, signal, draining) => {
        draining.addEventListener("abort", () => drained.push(run.id));
        await new Promise<void>((resolve) => {
          ends.set(run.id, resolve);
          signal.addEventListener("abort", () => {
            aborted.push(run.id);
            resolve();
          });
        });
        await platform.claims.finish(run, { state: "complete", result: null });
      };
      return {
        queue,
        ends,
        aborted,
        drained,
        errors,
        start: () => queue.start(execute),
        began: () => [...ends.keys()],
        end: (run: Run) => ends.get(run.id)!(),
        async stop() {
          const stopped = queue.stop({ graceMs: 0 });
          for (const end of ends.values()) end();
          await stopped;
          expect(errors).toEqual([]);
        },
      };
    };

    test("executes each queued run once, also over two workers", async () => {
      const { queue, stateOf } = await start();
      const runs = [];
      for (let n = 0; n < 6; n += 1) runs.push(await queue());
      const [a, b] = [worker("a"), worker("b")];
      a.start();
      b.start();
      await expect.poll(() => a.queue.running + b.queue.running).toBe(6);
      expect([...a.began(), ...b.began()].toSorted()).toEqual(runs.map(({ id }) => id).toSorted());
      for (const end of [...a.ends.values(), ...b.ends.values()]) end();
      await expect.poll(() => a.queue.running + b.queue.running).toBe(0);
      for (const run of runs) expect(await stateOf(run)).toBe("complete");
      await Promise.all([a.stop(), b.stop()]);
    });

    test("executes no more runs than it may, and takes the next when one has ended", async () => {
      const { queue } = await start();
      const runs = [await queue(), await queue({ priority: -1 })];
      const one = worker("one", { concurrency: 1 });
      one.start();
      await expect.poll(one.began).toEqual([runs[0]!.id]);
      expect(one.queue.hasRoom).toBe(false);
      one.end(runs[0]!);
      await expect.poll(one.began).toEqual(runs.map(({ id }) => id));
      await one.stop();
      expect(one.queue.hasRoom).toBe(true);
    });

    test("executes the runs of a thread in order, one at a time", async () => {
      const { queue, instance } = await start();
      const instanceId = await instance();
      const first = await queue({ instanceId });
      const second = await queue({ instanceId, priority: 9 });
      const one = worker("one");
      one.start();
      await expect.poll(one.began).toEqual([first.id]);
      one.queue.wake();
      one.end(first);
      await expect.poll(one.began).toEqual([first.id, second.id]);
      await one.stop();
    });

    test("begins a run with its creation while it has room, and leaves it queued otherwise", async () => {
      const { tenantId, instance, stateOf } = await start();
      const one = worker("one", { concurrency: 1 });
      const other = worker("other");
      const add = async ({ queue }: typeof one) => {
        const instanceId = await instance();
        const given = { instanceId, request: {} };
        return queue.add((claim?: NewClaim) =>
          subject.platform.runs.create(tenantId, given, claim),
        );
      };
      one.start();
      // Once it has looked, and found nothing: until then runs are queued, and begin later. None is added before.
      let added = 0;
      const addNext = async () => {
        for (const end of one.ends.values()) end();
        if (one.began().length < added) return null;
        added += 1;
        return (await add(one)).epoch;
      };
      await expect.poll(addNext, { interval: 5 }).toBe(1);
      const begun = one.began().at(-1);
      const late = await add(one);
      expect(late.epoch).toBe(0);
      expect(await stateOf(late)).toBe("queued");
      expect(begun).toBeDefined();
      other.start();
      await expect.poll(other.began).toContain(late.id);
      await Promise.all([one.stop(), other.stop()]);
    });

    test("takes runs of its kinds and labels alone", async () => {
      const { queue } = await start();
      const [turn, graph] = [await queue(), await queue({ kind: "graph" })];
      const one = worker("one", { kinds: ["graph"] });
      one.start();
      await expect.poll(one.began).toEqual([graph.id]);
      one.end(graph);
      await expect.poll(() => one.queue.running).toBe(0);
      expect(one.began()).toEqual([graph.id]);
      const other = worker("other", { labels: ["gpu"] });
      other.start();
      await expect.poll(other.began).toEqual([turn.id]);
      await Promise.all([one.stop(), other.stop()]);
    });

    test("takes a delayed run when its time has come", async () => {
      const { queue, clock } = await start();
      const runAt = new Date(clock.now().getTime() + 5_000).toISOString();
      const later = await queue({ runAt });
      const now = await queue();
      const one = worker("one");
      one.start();
      await expect.poll(one.began).toEqual([now.id]);
      clock.advance(5_000);
      await expect.poll(one.began).toEqual([now.id, later.id]);
      await one.stop();
    });

    test("continues a run whose worker no longer renews its lease, and stops that one", async () => {
      const { tenantId, queue, clock } = await start();
      const run = await queue();
      const frozen = worker("frozen");
      frozen.start();
      await expect.poll(frozen.began).toEqual([run.id]);
      // Another claim, as after the end of the lease.
      await subject.platform.claims.releaseExpired({ isAll: true });
      const other = worker("other");
      other.start();
      await expect.poll(other.began).toEqual([run.id]);
      expect(await subject.platform.runs.get(tenantId, run.id)).toMatchObject({
        epoch: 2,
        worker: "other",
      });
      await expect
        .poll(() => {
          clock.advance(5_000);
          return frozen.aborted;
        })
        .toEqual([run.id]);
      expect(other.aborted).toEqual([]);
      await frozen.stop();
      expect((await subject.platform.runs.get(tenantId, run.id)).state).toBe("running");
      await other.stop();
      expect((await subject.platform.runs.get(tenantId, run.id)).state).toBe("complete");
    });

    test("asks its runs to be handed over when it stops, and takes no more", async () => {
      const { queue, stateOf } = await start();
      const first = await queue();
      const one = worker("one", { concurrency: 1 });
      one.start();
      await expect.poll(one.began).toEqual([first.id]);
      const second = await queue();
      const stopped = one.queue.stop({ graceMs: 60_000 });
      expect(one.drained).toEqual([first.id]);
      one.end(first);
      await stopped;
      expect(await stateOf(first)).toBe("complete");
      expect(await stateOf(second)).toBe("queued");
      expect([one.aborted, one.errors]).toEqual([[], []]);
    });
  });
}
