import { v7 as uuidv7 } from "@langchain/core/utils/uuid";

/** Time as a dependency, so that tests can control it. */
export interface Clock {
  /** Wall-clock time. */
  now(): Date;
  /** Milliseconds of a monotonic clock, for durations. */
  monotonic(): number;
  /**
   * Calls `run` after `delayMs` milliseconds unless the returned function cancels it. The timer keeps the process
   * alive.
   */
  after(delayMs: number, run: () => void): () => void;
}

/** Generates unique ids that sort by creation time. */
export type IdSource = () => string;

export const systemClock: Clock = {
  now: () => new Date(),
  monotonic: () => performance.now(),
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Version 7 UUIDs. */
export const systemIds: IdSource = () => uuidv7();
