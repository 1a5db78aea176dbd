import { v7 as uuidv7 } from "@langchain/core/utils/uuid";

/** Time as a dependency, so that tests can control it. */
export interface Clock {
  /** Wall-clock time. */
  now(): Date;
  /** Milliseconds of a monotonic clock, for durations. */
  monotonic(): number;
  /**
   * Calls `run` after `delayMs` milliseconds unless the returned function cancels it.
   *
   * @param options.keepsAlive whether the timer keeps the process alive. Default true
   */
  after(delayMs: number, run: () => void, options?: { readonly keepsAlive?: boolean }): () => void;
}

/** Generates unique ids that sort by creation time. */
export type IdSource = () => string;

export const systemClock: Clock = {
  now: () => new Date(),
  monotonic: () => performance.now(),
  after(delayMs, run, { keepsAlive = true } = {}) {
    const timer = setTimeout(run, delayMs);
    if (!keepsAlive) timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Version 7 UUIDs. */
export const systemIds: IdSource = () => uuidv7();
