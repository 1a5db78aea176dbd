import { describe, expect, it } from "vitest";
import { createRunTableQueue } from "../../src/engine/run-table-queue.ts";
import type { ClaimedRun, RunClaims } from "../../src/engine/run-queue.ts";
import type { NewClaim } from "../../src/storage/platform/runs/create-run.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { gate } from "../helpers/run-server.ts";

const settle = () => new Promise((resolve) => setImmediate(resolve));

function setUp({ concurrency = 2 } = {}) {
  const clock = new ManualClock();
  const queued: ClaimedRun[] = [];
  const looks: (() => Promise<void>)[] = [];
  const claims: RunClaims = {
    claim: async () => {
      const run = queued.shift() ?? null;
      await looks.shift()?.();
      return run;
    },
    renew: async () => true,
    releaseExpired: async () => 0,
  };
  const errors: unknown[] = [];
  const onError = (error: unknown) => errors.push(error);
  const queue = createRunTableQueue({ claims, clock, worker: "w", concurrency, onError });
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const drained: string[] = [];
  const execute = async (run: ClaimedRun, _signal: AbortSignal, drain: AbortSignal) => {
    started.push(run.id);
    if (drain.aborted) drained.push((drain.reason as { code: string }).code);
    await new Promise<void>((resolve) => ends.set(run.id, resolve));
  };
  const asked: (NewClaim | undefined)[] = [];
  /** Creates a run as the table does: as the worker's if it may be, else in the queue. */
  const add = (id: string, { until = Promise.resolve(), isFree = true } = {}) =>
    queue.add(async (claim) => {
      asked.push(claim);
      await until;
      const isTaken = claim !== undefined && isFree;
      const run = { id, tenantId: "t", threadId: id, epoch: isTaken ? 1 : 0 };
      if (!isTaken) queued.push({ ...run, epoch: 1 });
      return run;
    });
  const start = async () => {
    queue.start(execute);
    await settle();
  };
  const end = async () => {
    const stopped = queue.stop({ graceMs: 0 });
    for (const one of ends.values()) one();
    await stopped;
    expect(errors).toEqual([]);
    expect(clock.pending).toBe(0);
  };
  return { queue, clock, looks, queued, started, ends, drained, asked, add, start, end };
}

describe("a run that is added to the queue on the table of runs", () => {
  const claim = { worker: "w", leaseMs: 15_000 };

  it("is claimed with its creation and executed here, as many as there is room for", async () => {
    const { queue, asked, add, started, start, end } = setUp();
    await start();
    const held = gate();
    const added = [add("a", { until: held.wait() }), add("b", { until: held.wait() })];
    expect(asked).toEqual([claim, claim]);
    held.open();
    expect((await Promise.all(added)).map(({ epoch }) => epoch)).toEqual([1, 1]);
    expect([started, queue.running]).toEqual([["a", "b"], 2]);
    await end();
  });

  it("is queued before the queue has started, and while none may execute", async () => {
    const { asked, add, started, ends, start, end } = setUp({ concurrency: 1 });
    await add("a");
    await start();
    await add("b");
    expect([asked, started]).toEqual([[undefined, undefined], ["a"]]);
    ends.get("a")!();
    await settle();
    expect(started).toEqual(["a", "b"]);
    await end();
  });

  it("waits behind those that are queued, although places have become free", async () => {
    const { asked, add, started, ends, looks, start, end } = setUp();
    await start();
    for (const id of ["a", "b", "c"]) await add(id);
    const look = gate();
    looks.push(look.wait);
    for (const id of ["a", "b"]) ends.get(id)!();
    await look.arrived;
    await add("d");
    expect(asked).toEqual([claim, claim, undefined, undefined]);
    look.open();
    await settle();
    expect(started).toEqual(["a", "b", "c", "d"]);
    await end();
  });

  it("waits behind one that was queued while a look found none", async () => {
    const { queue, asked, add, started, ends, looks, start, end } = setUp();
    await start();
    await add("x");
    const [early, late] = [gate(), gate()];
    looks.push(early.wait, late.wait);
    queue.wake();
    await early.arrived;
    await add("a");
    ends.get("x")!();
    early.open();
    await late.arrived;
    await add("b");
    expect(asked).toEqual([claim, undefined, undefined]);
    late.open();
    await settle();
    expect(started).toEqual(["x", "a", "b"]);
    await end();
  });

  it("takes no place that a claim under way may need", async () => {
    const { queue, asked, add, queued, looks, start, end } = setUp({ concurrency: 1 });
    await start();
    const look = gate();
    looks.push(look.wait);
    queued.push({ id: "a", tenantId: "t", threadId: "a", epoch: 1 });
    queue.wake();
    await look.arrived;
    await add("b");
    expect(asked).toEqual([undefined]);
    look.open();
    await settle();
    expect(queue.running).toBe(1);
    await end();
  });

  it("is taken in its turn when its creation does not claim it", async () => {
    const { add, started, start, end } = setUp({ concurrency: 1 });
    await start();
    expect(await add("a", { isFree: false })).toMatchObject({ epoch: 0 });
    await settle();
    expect(started).toEqual(["a"]);
    await end();
  });

  it("gives its place back to those that wait when it cannot be created", async () => {
    const { queue, asked, add, started, start, end } = setUp({ concurrency: 1 });
    await start();
    const held = gate();
    const refused = queue.add(async () => {
      await held.wait();
      throw new RangeError("refused");
    });
    await add("a");
    expect([asked, started]).toEqual([[undefined], []]);
    held.open();
    await expect(refused).rejects.toThrow(RangeError);
    await settle();
    expect([started, queue.running]).toEqual([["a"], 1]);
    await end();
  });

  it("is waited for by a queue that stops, and told to hand over", async () => {
    const { queue, add, started, drained, ends, start, clock } = setUp();
    await start();
    const held = gate();
    const added = add("a", { until: held.wait() });
    let hasStopped = false;
    const stopped = queue.stop({ graceMs: 1_000 }).then(() => (hasStopped = true));
    await settle();
    expect(hasStopped).toBe(false);
    held.open();
    await added;
    await settle();
    expect({ started, drained, hasStopped }).toEqual({
      started: ["a"],
      drained: ["queue_stopped"],
      hasStopped: false,
    });
    ends.get("a")!();
    await stopped;
    expect([queue.running, clock.pending]).toEqual([0, 0]);
  });
});
