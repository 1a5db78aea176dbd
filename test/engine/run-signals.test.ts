import { expect, it } from "vitest";
import { RunSignals } from "../../src/engine/run-signals.ts";
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

it("look at most 250 times a second for all who follow", async () => {
  const { follow, advance } = makeSignals();
  for (let at = 0; at < 1_000; at += 1) follow(`run-${at}`);
  const early = await advance(1_000);
  expect(early.length).toBeLessThanOrEqual(250);
  const late = await advance(3_000);
  expect(early.length + late.length).toBe(1_000);
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
  expect(await advance(0)).toEqual(["a", "b"]);
  expect(clock.pending).toBe(0);
});
