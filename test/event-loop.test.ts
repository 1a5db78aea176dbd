import { AsyncLocalStorage } from "node:async_hooks";
import { expect, it, vi } from "vitest";
import { runToCompletion, runInSlices, yieldToEventLoop } from "../src/event-loop.ts";
import { countTurns } from "./helpers/count-turns.ts";

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Work that takes longer than a slice at every pause. */
function* longWork(pauses: number) {
  for (let pause = 0; pause < pauses; pause += 1) {
    const until = performance.now() + 6;
    while (performance.now() < until);
    yield;
  }
  return "done";
}

it("lets the event loop turn at each yield", async () => {
  const counted = countTurns();
  for (let yields = 0; yields < 50; yields += 1) await yieldToEventLoop();
  counted.stop();
  expect(counted.turns).toBeGreaterThanOrEqual(49);
});

it("lets due timers fire between yields", async () => {
  const fired: string[] = [];
  setTimeout(() => fired.push("timer"), 0);
  for (let yields = 0; fired.length === 0 && yields < 1_000_000; yields += 1) {
    await yieldToEventLoop();
  }
  expect(fired).toEqual(["timer"]);
});

it("resumes concurrent callers in order, each after the microtasks of the one before", async () => {
  const order: string[] = [];
  const caller = async (name: string) => {
    for (let round = 0; round < 3; round += 1) {
      await yieldToEventLoop();
      order.push(`${name}${round} begins`);
      for (let n = 0; n < 10; n += 1) await Promise.resolve();
      order.push(`${name}${round} ends`);
    }
  };
  await Promise.all(["a", "b", "c"].map(caller));
  const rounds = [0, 1, 2].flatMap((round) =>
    ["a", "b", "c"].flatMap((name) => [`${name}${round} begins`, `${name}${round} ends`]),
  );
  expect(order).toEqual(rounds);
});

it("resumes callers that wait together in one turn while their slice lasts", async () => {
  await turn();
  const counted = countTurns();
  await Promise.all(Array.from({ length: 20 }, yieldToEventLoop));
  counted.stop();
  expect(counted.turns).toBeLessThan(20);
});

it("lets the event loop turn between concurrent callers that work for longer than a slice", async () => {
  const counted = countTurns();
  await Promise.all(
    Array.from({ length: 10 }, async () => {
      await yieldToEventLoop();
      runToCompletion(longWork(1));
    }),
  );
  counted.stop();
  expect(counted.turns).toBeGreaterThanOrEqual(9);
});

it("keeps the asynchronous context of each caller", async () => {
  const storage = new AsyncLocalStorage<number>();
  const seen = await Promise.all(
    Array.from({ length: 5 }, (_, at) =>
      storage.run(at, async () => {
        await yieldToEventLoop();
        return storage.getStore();
      }),
    ),
  );
  expect(seen).toEqual([0, 1, 2, 3, 4]);
});

it("yields while timers are faked", async () => {
  vi.useFakeTimers({ toFake: ["setImmediate", "queueMicrotask", "performance"] });
  try {
    await Promise.all([yieldToEventLoop(), yieldToEventLoop()]);
    expect(await runInSlices(longPure(3))).toBe("done");
  } finally {
    vi.useRealTimers();
  }
});

function* longPure(pauses: number) {
  for (let pause = 0; pause < pauses; pause += 1) yield;
  return "done";
}

it("lets the event loop turn while long work runs in slices", async () => {
  const counted = countTurns();
  expect(await runInSlices(longWork(10))).toBe("done");
  counted.stop();
  expect(counted.turns).toBeGreaterThanOrEqual(9);
});

it("ends work in slices with the reason of its signal", async () => {
  const abort = new AbortController();
  setImmediate(() => abort.abort(new Error("stopped")));
  await expect(runInSlices(longWork(1_000_000), abort.signal)).rejects.toThrow("stopped");
});

it("runs the same work at once, without a turn", async () => {
  let turns = 0;
  setImmediate(() => (turns += 1));
  expect(runToCompletion(longWork(3))).toBe("done");
  expect(turns).toBe(0);
});
