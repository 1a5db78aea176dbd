import { setMaxListeners } from "node:events";
import type { Clock } from "./clock.ts";

/**
 * Settles like `pending`, or rejects with the signal's reason as soon as the signal aborts. The outcome of `pending` is
 * then ignored.
 */
export function abortable<T>(pending: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return pending;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    const release = () => signal.removeEventListener("abort", onAbort);
    pending.then(
      (value) => {
        release();
        resolve(value);
      },
      (thrown: Error) => {
        release();
        reject(thrown);
      },
    );
    if (signal.aborted) onAbort();
  });
}

/**
 * Waits `delayMs` milliseconds of the clock.
 * @throws the signal's reason as soon as it aborts
 */
export function sleep(
  delayMs: number,
  { clock, signal }: { readonly clock: Clock; readonly signal?: AbortSignal | undefined },
): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const onAbort = () => {
      cancel();
      reject(signal?.reason as Error);
    };
    const cancel = clock.after(delayMs, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/**
 * Returns the milliseconds before a retry: exponential with "equal jitter" (the upper half is random), so that callers
 * that failed together do not retry together.
 *
 * @param retry 1-based number of the retry
 * @param of.random returns a number in [0, 1); if left out, there is no jitter
 */
export function backoff(
  retry: number,
  of: { readonly baseMs: number; readonly maxMs: number; readonly random?: () => number },
): number {
  const most = Math.min(of.maxMs, of.baseMs * 2 ** (retry - 1));
  return of.random === undefined ? most : most / 2 + (most / 2) * of.random();
}

/** A signal that aborts with outer ones. */
export interface LinkedSignal {
  readonly signal: AbortSignal;
  /** Aborts it, and removes its listeners from the outer signals. */
  abort(reason?: unknown): void;
  /** Removes the listeners: it aborts with the outer signals no more. */
  release(): void;
}

/**
 * Returns a signal that aborts as soon as one of the outer ones does, until it is released. Node 20 keeps a trace of each
 * signal that `AbortSignal.any` makes in the outer ones for as long as these last, which may be that of a server.
 */
export function linkSignals(...outer: readonly AbortSignal[]): LinkedSignal {
  const controller = new AbortController();
  const release = () => {
    for (const one of outer) one.removeEventListener("abort", onAbort);
  };
  const abort = (reason?: unknown) => {
    release();
    controller.abort(reason);
  };
  const onAbort = () => abort(outer.find(({ aborted }) => aborted)?.reason);
  for (const one of outer) {
    // Each request of a server may add a listener.
    setMaxListeners(0, one);
    one.addEventListener("abort", onAbort);
  }
  if (outer.some(({ aborted }) => aborted)) onAbort();
  return { signal: controller.signal, abort, release };
}

/** A time limit combined with outer abort signals. */
export interface Deadline {
  /** Aborts when the time is up, or when an outer signal aborts, with its reason. */
  readonly signal: AbortSignal;
  /** Settles like `work`, or rejects with the signal's reason as soon as the signal aborts. */
  race<T>(work: Promise<T>): Promise<T>;
  /** Stops the timer and removes the listeners from the outer signals. */
  release(): void;
}

/**
 * Starts a deadline.
 *
 * @param of.remainingMs milliseconds; at 0 or less the time is up immediately
 * @param of.timeUp creates the abort reason for when the time is up
 */
export function deadline(of: {
  readonly clock: Clock;
  readonly outer: readonly (AbortSignal | undefined)[];
  readonly remainingMs: number;
  readonly timeUp: () => Error;
}): Deadline {
  const controller = new AbortController();
  const { signal } = controller;
  const releases: (() => void)[] = [];
  for (const outer of of.outer) {
    if (outer === undefined) continue;
    // Each running node adds a listener; a wide fan-out must not trigger Node's leak warning.
    setMaxListeners(0, outer);
    const onAbort = () => controller.abort(outer.reason);
    if (outer.aborted) onAbort();
    outer.addEventListener("abort", onAbort, { once: true });
    releases.push(() => outer.removeEventListener("abort", onAbort));
  }
  const timeUp = () => controller.abort(of.timeUp());
  if (of.remainingMs > 0) releases.push(of.clock.after(of.remainingMs, timeUp));
  else timeUp();
  return {
    signal,
    race: (work) => abortable(work, signal),
    release: () => {
      for (const release of releases) release();
    },
  };
}
