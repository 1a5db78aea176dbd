import { v7 as uuidv7 } from "@langchain/core/utils/uuid";

/** Time as a dependency: tests pass a clock of their own. */
export interface Clock {
  /** Wall-clock time. */
  now(): Date;
  /** Milliseconds on a clock that never goes back, for durations. */
  monotonic(): number;
  /** Calls `run` after `delayMs` milliseconds unless the returned function is called first. Keeps the process alive until then. */
  after(delayMs: number, run: () => void): () => void;
}

/** Makes ids: unique, sorting by time of creation. */
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
