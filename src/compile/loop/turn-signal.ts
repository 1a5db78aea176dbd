import { setMaxListeners } from "node:events";
import type { Clock } from "../../clock.ts";

export interface TurnSignal {
  readonly signal: AbortSignal;
  /** Settles as `work` does, or rejects with the signal's reason as soon as that aborts, whatever `work` does then. */
  readonly race: <T>(work: Promise<T>) => Promise<T>;
  /** Ends the timer and lets go of the outer signals. */
  readonly release: () => void;
}

/** A signal that aborts with any of the outer ones, or with what `timeUp` makes when `remainingMs` have passed. */
export function turnSignal(options: {
  clock: Clock;
  outer: readonly (AbortSignal | undefined)[];
  remainingMs: number;
  timeUp: () => Error;
}): TurnSignal {
  const { clock, outer, remainingMs } = options;
  const controller = new AbortController();
  const { signal } = controller;
  const releases: (() => void)[] = [];
  for (const one of outer) {
    if (one === undefined) continue;
    // One listener for each node that runs at the moment, however wide a workflow fans out.
    setMaxListeners(0, one);
    const abort = () => controller.abort(one.reason);
    if (one.aborted) abort();
    one.addEventListener("abort", abort, { once: true });
    releases.push(() => one.removeEventListener("abort", abort));
  }
  const timeUp = () => controller.abort(options.timeUp());
  if (remainingMs > 0) releases.push(clock.after(remainingMs, timeUp));
  else timeUp();
  return {
    signal,
    race: (work) => raceAbort(work, signal),
    release: () => {
      for (const release of releases) release();
    },
  };
}

/** Settles as `work` does, or rejects with the signal's reason as soon as that aborts, whatever `work` does then. */
export function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
