import { describe, expect, it } from "vitest";
import { createRunTableQueue } from "../../src/engine/run-table-queue.ts";
import type { ClaimedRun, RunClaims } from "../../src/engine/run-queue.ts";
import { ManualClock } from "../helpers/manual-clock.ts";

/** A table of runs in memory: `queued` are claimed in order. */
function memoryClaims() {
  const queued: ClaimedRun[] = [];
  const lost = new Set<string>();
  const state = { renewals: 0, expired: 0, released: 0, failing: false };
  const leases: string[] = [];
  const claims: RunClaims = {
    claim: async () => {
      if (state.failing) throw new Error("database");
      return queued.shift() ?? null;
    },
    renew: async ({ id }, { leaseMs }) => {
      state.renewals += 1;
      if (state.failing) throw new Error("database");
      leases.push(`${id} ${leaseMs}`);
      return !lost.has(id);
    },
    releaseExpired: async ({ isAll = false } = {}) => {
      state.expired += 1;
      if (isAll) state.released += 1;
      return 0;
    },
  };
  const add = (id: string, epoch = 1) => queued.push({ id, tenantId: "t", threadId: id, epoch });
  return { claims, add, lost, state, leases };
}

function setUp(options: { concurrency?: number; isAlone?: boolean } = {}) {
  const table = memoryClaims();
  const clock = new ManualClock();
  const errors: unknown[] = [];
  const queue = createRunTableQueue({
    claims: table.claims,
    clock,
    worker: "w",
    onError: (error) => errors.push(error),
    ...options,
  });
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const aborted: unknown[] = [];
  const execute = async (run: ClaimedRun, signal: AbortSignal) => {
    started.push(run.id);
    await new Promise<void>((resolve) => {
      ends.set(run.id, resolve);
      signal.addEventListener("abort", () => {
        aborted.push((signal.reason as { code: string }).code);
        resolve();
      });
    });
  };
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return { ...table, clock, errors, queue, started, ends, aborted, execute, settle };
}

describe("the queue on the table of runs", () => {
  it("executes queued runs, and those that are queued later when it is woken or polls", async () => {
    const { queue, add, started, execute, settle, ends, clock, state } = setUp();
    add("a");
    queue.start(execute);
    await settle();
    expect(started).toEqual(["a"]);
    add("b");
    queue.wake();
    await settle();
    expect(started).toEqual(["a", "b"]);
    add("c");
    clock.advance(999);
    await settle();
    expect(started).toEqual(["a", "b"]);
    clock.advance(1);
    await settle();
    expect(started).toEqual(["a", "b", "c"]);
    expect(state.expired).toBe(2);
    for (const end of ends.values()) end();
    await queue.stop({ graceMs: 0 });
  });

  it("executes no more runs than it may, and takes the next when one has ended", async () => {
    const { queue, add, started, execute, settle, ends } = setUp({ concurrency: 2 });
    for (const id of ["a", "b", "c"]) add(id);
    queue.start(execute);
    await settle();
    expect([started, queue.running]).toEqual([["a", "b"], 2]);
    ends.get("a")!();
    await settle();
    expect([started, queue.running]).toEqual([["a", "b", "c"], 2]);
    for (const end of ends.values()) end();
    await queue.stop({ graceMs: 0 });
    expect(queue.running).toBe(0);
  });

  it.each([true, false])(
    "releases at its start the runs of others if alone (%s)",
    async (isAlone) => {
      const { queue, execute, settle, clock, state } = setUp({ isAlone });
      queue.start(execute);
      await settle();
      clock.advance(1_000);
      await settle();
      expect([state.expired, state.released]).toEqual([2, isAlone ? 1 : 0]);
      await queue.stop({ graceMs: 0 });
    },
  );

  it("renews leases while runs execute, and leaves no timer behind", async () => {
    const { queue, add, execute, settle, ends, clock, state, aborted } = setUp();
    add("a");
    queue.start(execute);
    await settle();
    for (let i = 0; i < 10; i += 1) {
      clock.advance(5_000);
      await settle();
    }
    expect(state.renewals).toBe(10);
    expect(aborted).toEqual([]);
    ends.get("a")!();
    await settle();
    await queue.stop({ graceMs: 0 });
    expect(clock.pending).toBe(0);
  });

  it("aborts a run that was claimed elsewhere", async () => {
    const { queue, add, execute, settle, clock, lost, aborted } = setUp();
    add("a");
    queue.start(execute);
    await settle();
    lost.add("a");
    clock.advance(5_000);
    await settle();
    expect(aborted).toEqual(["lease_ended"]);
    await queue.stop({ graceMs: 0 });
  });

  it("aborts a run before its lease ends when the database does not answer", async () => {
    const { queue, add, execute, settle, clock, state, aborted, errors } = setUp();
    add("a");
    queue.start(execute);
    await settle();
    state.failing = true;
    clock.advance(13_499);
    await settle();
    expect(aborted).toEqual([]);
    clock.advance(1);
    await settle();
    expect(aborted).toEqual(["lease_ended"]);
    expect(errors.length).toBeGreaterThan(0);
    await queue.stop({ graceMs: 0 });
  });

  it("continues after errors of the database and of a run", async () => {
    const { queue, add, started, settle, clock, state, errors } = setUp();
    state.failing = true;
    queue.start(async (run) => {
      started.push(run.id);
      throw new Error("execute");
    });
    await settle();
    state.failing = false;
    add("a");
    add("b");
    clock.advance(1_000);
    await settle();
    expect(started).toEqual(["a", "b"]);
    expect(errors.map((error) => (error as Error).message)).toEqual([
      "database",
      "execute",
      "execute",
    ]);
    await queue.stop({ graceMs: 0 });
  });

  it("ends the lease of a run soon whose end could not be written, and later with each claim", async () => {
    const { queue, add, settle, leases } = setUp();
    add("a");
    add("b", 3);
    add("c", 9);
    queue.start(async () => {
      throw new Error("execute");
    });
    await settle();
    expect(leases).toEqual(["a 1000", "b 4000", "c 15000"]);
    await queue.stop({ graceMs: 0 });
  });

  it("tries to end that lease until the database answers, and no longer than the lease", async () => {
    const { queue, add, settle, clock, state, leases } = setUp();
    add("a");
    queue.start(async () => {
      state.failing = true;
      throw new Error("execute");
    });
    await settle();
    for (let second = 0; second < 3; second += 1) {
      clock.advance(1_000);
      await settle();
    }
    expect([leases, queue.running]).toEqual([[], 1]);
    state.failing = false;
    clock.advance(1_000);
    await settle();
    expect([leases, queue.running]).toEqual([["a 1000"], 0]);

    add("b");
    queue.wake();
    for (let second = 0; second < 15; second += 1) {
      await settle();
      clock.advance(1_000);
    }
    await settle();
    expect([leases, queue.running]).toEqual([["a 1000"], 0]);
    await queue.stop({ graceMs: 0 });
  });

  it("stops while the database does not answer", async () => {
    const { queue, add, settle, state } = setUp();
    add("a");
    queue.start(async () => {
      state.failing = true;
      throw new Error("execute");
    });
    await settle();
    expect(queue.running).toBe(1);
    await queue.stop({ graceMs: 0 });
    expect(queue.running).toBe(0);
  });

  it("stops taking runs, waits for those that execute, and aborts them after the grace period", async () => {
    const { queue, add, started, execute, settle, clock, aborted, ends } = setUp();
    add("a");
    add("b");
    queue.start(execute);
    await settle();
    add("c");
    let hasStopped = false;
    const stopped = queue.stop({ graceMs: 3_000 }).then(() => (hasStopped = true));
    ends.get("a")!();
    await settle();
    expect([started, hasStopped]).toEqual([["a", "b"], false]);
    clock.advance(3_000);
    await stopped;
    expect(aborted).toEqual(["queue_stopped"]);
    expect(clock.pending).toBe(0);
  });

  it("waits at its stop for a run that is created meanwhile, and aborts it after the grace period", async () => {
    const { queue, execute, settle, clock, started, aborted } = setUp();
    queue.start(execute);
    await settle();
    let create = (_run: ClaimedRun) => {};
    const created = new Promise<ClaimedRun>((resolve) => (create = resolve));
    const added = queue.add(() => created);
    let hasStopped = false;
    const stopped = queue.stop({ graceMs: 3_000 }).then(() => (hasStopped = true));
    await settle();
    create({ id: "a", tenantId: "t", threadId: "a", epoch: 1 });
    await added;
    await settle();
    expect([started, hasStopped]).toEqual([["a"], false]);
    clock.advance(3_000);
    await stopped;
    expect(aborted).toEqual(["queue_stopped"]);
    expect([queue.running, clock.pending]).toEqual([0, 0]);
  });

  it("aborts a run that is created after the grace period", async () => {
    const { queue, settle, clock } = setUp();
    const aborted: boolean[] = [];
    queue.start(async (_run, signal) => void aborted.push(signal.aborted));
    await settle();
    let create = (_run: ClaimedRun) => {};
    const created = new Promise<ClaimedRun>((resolve) => (create = resolve));
    const added = queue.add(() => created);
    const stopped = queue.stop({ graceMs: 0 });
    await settle();
    clock.advance(1);
    create({ id: "a", tenantId: "t", threadId: "a", epoch: 1 });
    await Promise.all([added, stopped]);
    expect(aborted).toEqual([true]);
  });

  it("has room for as many creations as for runs, and takes a run at once that its creation left", async () => {
    const { queue, add, execute, settle, started, ends } = setUp({ concurrency: 2 });
    queue.start(execute);
    await settle();
    const claims: boolean[] = [];
    const create = (id: string, epoch: number) =>
      queue.add(async (claim) => {
        claims.push(claim !== undefined);
        await settle();
        const run = { id, tenantId: "t", threadId: id, epoch };
        if (epoch === 0) add(id);
        return run;
      });
    await Promise.all([create("a", 1), create("b", 0)]);
    await settle();
    expect([claims, started, queue.running]).toEqual([[true, true], ["a", "b"], 2]);
    for (const end of ends.values()) end();
    await queue.stop({ graceMs: 0 });
  });
});
