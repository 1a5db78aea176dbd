import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { abortable, backoff, deadline, sleep } from "../src/async.ts";
import { ManualClock } from "./helpers/manual-clock.ts";

/** A signal that counts its listeners. */
function countedSignal() {
  const controller = new AbortController();
  const { signal } = controller;
  let listeners = 0;
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (...of: Parameters<typeof add>) => {
    listeners += 1;
    add(...of);
  };
  signal.removeEventListener = (...of: Parameters<typeof remove>) => {
    listeners -= 1;
    remove(...of);
  };
  return { controller, signal, listeners: () => listeners };
}

const never = new Promise<never>(() => {});
const cancelled = new Error("cancelled");

describe("abortable", () => {
  it("settles as its promise does, and removes its listener", async () => {
    const { signal, listeners } = countedSignal();
    await expect(abortable(Promise.resolve(1), signal)).resolves.toBe(1);
    await expect(abortable(Promise.reject(cancelled), signal)).rejects.toBe(cancelled);
    expect(listeners()).toBe(0);
  });

  it("rejects with the reason of the signal, before or while it waits", async () => {
    await expect(abortable(never, AbortSignal.abort(cancelled))).rejects.toBe(cancelled);
    const controller = new AbortController();
    const waiting = abortable(never, controller.signal);
    controller.abort(cancelled);
    await expect(waiting).rejects.toBe(cancelled);
  });

  it("returns the promise itself without a signal", () => {
    expect(abortable(never, undefined)).toBe(never);
  });
});

describe("sleep", () => {
  it("ends when the clock has passed the time, and removes its listener", async () => {
    const clock = new ManualClock();
    const { signal, listeners } = countedSignal();
    const slept = sleep(100, { clock, signal });
    clock.advance(99);
    expect(listeners()).toBe(1);
    clock.advance(1);
    await slept;
    expect(listeners()).toBe(0);
  });

  it("rejects when the signal aborts, and leaves no timer", async () => {
    const clock = new ManualClock();
    const controller = new AbortController();
    const slept = sleep(100, { clock, signal: controller.signal });
    controller.abort(cancelled);
    await expect(slept).rejects.toBe(cancelled);
    expect(clock.pending).toBe(0);
    await expect(sleep(100, { clock, signal: controller.signal })).rejects.toBe(cancelled);
  });
});

describe("backoff", () => {
  it("is between half and all of the doubled time, and at most the maximum", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100_000 }),
        fc.integer({ min: 1, max: 30 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (baseMs, retry, random) => {
          const whole = Math.min(baseMs * 2 ** (retry - 1), 60_000);
          const wait = backoff(retry, { baseMs, maxMs: 60_000, random: () => random });
          expect(wait).toBeGreaterThanOrEqual(whole / 2);
          expect(wait).toBeLessThanOrEqual(whole);
        },
      ),
    );
  });

  it("doubles from its base without jitter", () => {
    const waits = [1, 2, 3, 6].map((retry) => backoff(retry, { baseMs: 1000, maxMs: 30_000 }));
    expect(waits).toEqual([1000, 2000, 4000, 30_000]);
  });
});

describe("deadline", () => {
  const timeUp = () => new Error("time is up");

  it("aborts when the time is up, at once where none is left", () => {
    const clock = new ManualClock();
    const { signal } = deadline({ clock, outer: [], remainingMs: 50, timeUp });
    clock.advance(49);
    expect(signal.aborted).toBe(false);
    clock.advance(1);
    expect(signal.reason).toEqual(timeUp());
    expect(deadline({ clock, outer: [], remainingMs: 0, timeUp }).signal.aborted).toBe(true);
  });

  it("aborts with any outer signal and its reason", async () => {
    const clock = new ManualClock();
    const controller = new AbortController();
    const outer = [undefined, controller.signal];
    const bound = deadline({ clock, outer, remainingMs: 50, timeUp });
    const raced = bound.race(never);
    controller.abort(cancelled);
    await expect(raced).rejects.toBe(cancelled);
    expect(bound.signal.reason).toBe(cancelled);
    expect(deadline({ clock, outer, remainingMs: 50, timeUp }).signal.reason).toBe(cancelled);
  });

  it("stops its timer and removes its listeners when it is released", () => {
    const clock = new ManualClock();
    const { signal, listeners } = countedSignal();
    const bound = deadline({ clock, outer: [signal], remainingMs: 50, timeUp });
    expect([listeners(), clock.pending]).toEqual([1, 1]);
    bound.release();
    expect([listeners(), clock.pending]).toEqual([0, 0]);
    clock.advance(100);
    expect(bound.signal.aborted).toBe(false);
  });
});
