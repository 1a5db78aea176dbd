import { describe, expect, it } from "vitest";
import { WorkerWatch, type WorkerWatchOptions } from "../../src/engine/worker-watch.ts";
import type { LostWorker, WorkerEntry } from "../../src/storage/platform/runs/workers.ts";
import { ManualClock } from "../helpers/manual-clock.ts";

const settle = () => new Promise((resolve) => setImmediate(resolve));
const self = { id: "me", name: "me", host: "h", pid: 1, version: "1", concurrency: 2 };

function setUp(options: Partial<WorkerWatchOptions> = {}) {
  const clock = new ManualClock();
  const state = {
    lost: [] as LostWorker[],
    isKnown: true,
    failing: false,
    looks: 0,
    removed: [] as string[],
    removedAll: 0,
    takeovers: [] as LostWorker[],
    published: [] as WorkerEntry[],
  };
  const check = () => {
    if (state.failing) throw new Error("database");
  };
  const errors: unknown[] = [];
  const taken: unknown[] = [];
  const watch = new WorkerWatch({
    workers: {
      look: async () => {
        state.looks += 1;
        check();
        return { lost: state.lost, isKnown: state.isKnown };
      },
      publish: async (entry) => {
        check();
        state.published.push(entry);
      },
      remove: async (id) => void state.removed.push(id),
      removeAll: async () => void (state.removedAll += 1),
      removeSilent: async () => {},
      takeOver: async (lost) => {
        state.takeovers.push(lost);
        return 3;
      },
    },
    clock,
    self,
    isWorker: true,
    isAlone: false,
    isShared: true,
    running: () => 1,
    onTakeover: (one) => taken.push(one),
    onError: (error) => errors.push(error),
    ...options,
  });
  const pass = async (ms: number) => {
    clock.advance(ms);
    await settle();
  };
  const connect = async () => {
    const locks: unknown[] = [];
    await watch.hold({ query: async (_text, values) => void locks.push(...values) });
    watch.setConnected(true);
    await settle();
    return locks[0];
  };
  return { clock, state, errors, taken, watch, pass, connect };
}

describe("the watch over workers", () => {
  it("takes over from a worker whose lock was gone in two looks", async () => {
    const { watch, state, taken, pass } = setUp();
    const dead = { id: "dead", lockKey: "1" };
    watch.start();
    await settle();
    state.lost = [dead];
    await pass(500);
    expect(state.takeovers).toEqual([]);
    await pass(500);
    expect(state.takeovers).toEqual([dead]);
    expect(taken).toEqual([{ id: "dead", runs: 3 }]);
    await watch.stop();
  });

  it("leaves a worker alone that has taken another lock between two looks", async () => {
    const { watch, state, pass } = setUp();
    watch.start();
    await settle();
    for (const lockKey of ["1", "2", "3"]) {
      state.lost = [{ id: "w", lockKey }];
      await pass(500);
    }
    state.lost = [];
    await pass(500);
    state.lost = [{ id: "w", lockKey: "3" }];
    await pass(500);
    expect(state.takeovers).toEqual([]);
    await watch.stop();
  });

  it("counts no look of the time before an outage of the database", async () => {
    const { watch, state, pass, errors } = setUp();
    watch.start();
    await settle();
    state.lost = [{ id: "w", lockKey: "1" }];
    await pass(500);
    state.failing = true;
    await pass(500);
    await pass(500);
    state.failing = false;
    await pass(500);
    expect(state.takeovers).toEqual([]);
    expect(errors).toHaveLength(1);
    await pass(500);
    expect(state.takeovers).toHaveLength(1);
    await watch.stop();
  });

  it("publishes a new lock with each session, and none as soon as that is lost", async () => {
    const { watch, state, connect } = setUp();
    const first = await connect();
    watch.setConnected(false);
    await settle();
    const second = await connect();
    expect(first).toMatch(/^\d+$/);
    expect(second).not.toBe(first);
    expect(state.published.map(({ lockKey }) => lockKey)).toEqual([first, null, second]);
    expect(state.published.at(-1)).toMatchObject({ ...self, running: 1 });
    await watch.stop();
  });

  it("publishes no lock of a session that was lost before it was connected", async () => {
    const { watch, state, pass } = setUp();
    await watch.hold({ query: async () => {} });
    watch.start();
    await settle();
    for (let n = 0; n < 10; n += 1) await pass(500);
    expect(state.published.map(({ lockKey }) => lockKey)).toEqual([null, null]);
    await watch.stop();
  });

  it("publishes its row every 5 seconds, and at once when others have removed it", async () => {
    const { watch, state, pass } = setUp();
    watch.start();
    await settle();
    for (let n = 0; n < 9; n += 1) await pass(500);
    expect(state.published).toHaveLength(1);
    await pass(500);
    expect(state.published).toHaveLength(2);
    state.isKnown = false;
    await pass(500);
    expect(state.published).toHaveLength(3);
    await watch.stop();
  });

  it("publishes again what the database did not take", async () => {
    const { watch, state, pass, connect } = setUp();
    watch.start();
    await settle();
    state.failing = true;
    const key = await connect();
    state.failing = false;
    await pass(500);
    expect(state.published.at(-1)?.lockKey).toBe(key);
    await watch.stop();
  });

  it("removes its row at its end, and leaves no timer", async () => {
    const { watch, state, clock } = setUp();
    watch.start();
    await settle();
    await watch.stop();
    expect([state.removed, clock.pending]).toEqual([["me"], 0]);
    watch.setConnected(false);
    await settle();
    expect(state.published).toHaveLength(1);
  });

  it("has no row and no lock in a process that takes no runs, which takes over all the same", async () => {
    const { watch, state, pass, connect } = setUp({ isWorker: false });
    expect(await connect()).toBeUndefined();
    watch.start();
    await settle();
    state.lost = [{ id: "dead", lockKey: "1" }];
    await pass(500);
    await pass(500);
    expect(state.takeovers).toHaveLength(1);
    await watch.stop();
    expect([state.published, state.removed]).toEqual([[], []]);
  });

  it("begins with no rows and looks for no one where no other process has the database", async () => {
    const { watch, state, pass } = setUp({ isAlone: true, isShared: false });
    watch.start();
    await settle();
    await pass(500);
    expect([state.removedAll, state.looks, state.published.length]).toEqual([1, 0, 1]);
    await watch.stop();
  });
});
