import { expect, it } from "vitest";
import { RunSignals, threadOfSignal, threadSignal } from "../../src/engine/run-signals.ts";
import { ManualClock } from "../helpers/manual-clock.ts";

function makeSignals() {
  const clock = new ManualClock();
  const signals = new RunSignals(clock);
  const woken: string[] = [];
  const follow = (name: string, of: Parameters<RunSignals["next"]>[1] = {}) => {
    void signals.next(name, of).then(() => woken.push(name));
  };
  const advance = async (ms: number) => {
    clock.advance(ms);
    await new Promise((resolve) => setImmediate(resolve));
    return woken.splice(0);
  };
  return { clock, signals, follow, advance };
}

it("wake those who follow a run, and tell other processes once", async () => {
  const { signals, follow, advance, clock } = makeSignals();
  const sent: string[] = [];
  signals.send = (runId) => sent.push(runId);
  follow("a");
  follow("a");
  follow("b");
  signals.notify("a");
  expect(await advance(0)).toEqual(["a", "a"]);
  expect(sent).toEqual(["a"]);
  signals.receive("b");
  expect(await advance(0)).toEqual(["b"]);
  expect(sent).toEqual(["a"]);
  expect(clock.pending).toBe(0);
});

it("look every 250 ms, and every 2 s while notices arrive", async () => {
  const { signals, follow, advance } = makeSignals();
  follow("a");
  expect(await advance(249)).toEqual([]);
  expect(await advance(1)).toEqual(["a"]);
  signals.setCarried(true);
  follow("a");
  expect(await advance(1_999)).toEqual([]);
  expect(await advance(1)).toEqual(["a"]);
  follow("a", { ms: 10 });
  expect(await advance(10)).toEqual(["a"]);
});

it("look at all that is followed at once, and wake what has changed", async () => {
  const { signals, clock, advance } = makeSignals();
  const looks: (readonly string[])[] = [];
  const versions = new Map<string, string>();
  signals.look = async (keys) => {
    looks.push(keys);
    return new Map(versions);
  };
  const keys = Array.from({ length: 1_000 }, (_, at) => `run-${at}`);
  for (const key of keys) versions.set(key, "1");
  const followers = keys.map((key) => signals.follow(key));
  const changed = async () => {
    const found: string[] = [];
    for (const [at, follower] of followers.entries()) {
      const waited = follower.changed(1);
      clock.advance(0);
      void waited.then((hasChanged) => hasChanged && found.push(keys[at]!));
    }
    await advance(1);
    for (const follower of followers) follower.reset();
    return found;
  };
  await advance(250);
  // What changed before the first look is unknown.
  expect(await changed()).toEqual(keys);
  await advance(250);
  expect(await changed()).toEqual([]);
  versions.set("run-7", "2");
  versions.delete("run-8");
  await advance(250);
  expect(await changed()).toEqual(["run-7", "run-8"]);
  expect(looks.length).toBeLessThanOrEqual(4);
  expect(looks[0]).toEqual(keys);
  for (const follower of followers) follower.release();
  expect(clock.pending).toBe(0);
});

it("look again after a look that failed", async () => {
  const { signals, follow, advance } = makeSignals();
  let failures = 1;
  signals.look = async () => {
    if ((failures -= 1) >= 0) throw new Error("The database is away.");
    return new Map();
  };
  follow("a");
  expect(await advance(250)).toEqual([]);
  expect(await advance(250)).toEqual(["a"]);
});

it("tell a follower of a thread and its run of both, and miss nothing after a reset", async () => {
  const { signals, clock } = makeSignals();
  const follower = signals.follow(threadSignal("t", "a b:c"));
  expect(threadOfSignal(threadSignal("t", "a b:c"))).toEqual({ tenantId: "t", threadId: "a b:c" });
  expect(threadOfSignal("0198c0de-0000-7000-8000-000000000001")).toBeNull();
  follower.followAlso("run-1");
  follower.followAlso("run-2");
  follower.reset();
  signals.receive("run-1");
  const waits = follower.changed(100);
  clock.advance(100);
  expect(await waits).toBe(false);
  signals.receive("run-2");
  expect(await follower.changed()).toBe(true);
  follower.reset();
  const told = follower.changed();
  signals.receive(threadSignal("t", "a b:c"));
  expect(await told).toBe(true);
  follower.release();
  expect(clock.pending).toBe(0);
});

it("wake all when notices begin and end, since some may have been missed", async () => {
  const { signals, follow, advance } = makeSignals();
  for (const isCarried of [true, false]) {
    follow("a");
    follow("b");
    signals.setCarried(isCarried);
    expect(signals.isCarried).toBe(isCarried);
    expect(await advance(0)).toEqual(["a", "b"]);
  }
});

it("end at once when a caller has gone", async () => {
  const { follow, advance, clock } = makeSignals();
  const gone = new AbortController();
  follow("a", { signal: gone.signal });
  gone.abort();
  follow("b", { signal: gone.signal });
  expect((await advance(0)).toSorted()).toEqual(["a", "b"]);
  expect(clock.pending).toBe(0);
});
