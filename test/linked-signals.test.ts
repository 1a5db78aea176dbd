import { expect, it } from "vitest";
import { linkSignals } from "../src/async.ts";
import { RunSignals } from "../src/engine/run-signals.ts";
import { heapInUse } from "./helpers/collect-garbage.ts";
import { ManualClock } from "./helpers/manual-clock.ts";

/** Bytes that the heap has grown by after many calls. */
async function growthOf(times: number, call: () => Promise<void> | void): Promise<number> {
  for (let at = 0; at < 1_000; at += 1) await call();
  const before = await heapInUse();
  for (let at = 0; at < times; at += 1) await call();
  return (await heapInUse()) - before;
}

it("a linked signal aborts with the first of its signals and its reason", () => {
  const [one, two] = [new AbortController(), new AbortController()];
  const linked = linkSignals(one.signal, two.signal);
  two.abort("two");
  one.abort("one");
  expect(linked.signal.reason).toBe("two");
  expect(linkSignals(one.signal).signal.reason).toBe("one");
});

it("a released linked signal aborts only by its own abort", () => {
  const outer = new AbortController();
  const linked = linkSignals(outer.signal);
  linked.release();
  outer.abort();
  expect(linked.signal.aborted).toBe(false);
  linked.abort("own");
  expect(linked.signal.reason).toBe("own");
});

it("100,000 linked signals leave nothing in a lasting one", async () => {
  const server = new AbortController();
  const growth = await growthOf(100_000, () => linkSignals(server.signal).release());
  expect(growth).toBeLessThan(2_000_000);
});

it("100,000 wake-ups of a stream leave nothing behind, and closed streams neither", async () => {
  const clock = new ManualClock();
  const signals = new RunSignals(clock);
  const closing = new AbortController();
  const follower = signals.follow("run", { signal: closing.signal });
  const wakes = await growthOf(100_000, async () => {
    follower.reset();
    const changed = follower.changed(15_000);
    signals.receive("run");
    await changed;
  });
  follower.release();
  expect(wakes).toBeLessThan(2_000_000);
  const streams = await growthOf(20_000, () => {
    const one = signals.follow("run", { signal: closing.signal });
    one.followAlso("other");
    one.release();
  });
  expect(streams).toBeLessThan(2_000_000);
  expect(clock.pending).toBe(0);
});
