import { setMaxListeners } from "node:events";
import type { Clock } from "./clock.ts";

/**
 * Settles as `pending` does, or rejects with the signal's reason as soon as that aborts. What `pending` does afterwards is
 * ignored.
 */
export function abortable<T>(pending: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return pending;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    pending.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
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
 * Milliseconds before a retry: exponential, with the upper half at random ("equal jitter"), so that callers that failed
 * together do not retry together.
 *
 * @param retry number of the retry, from 1
 * @param of.random a number in [0, 1); left out, there is no jitter
 */
export function backoff(
  retry: number,
  of: { readonly baseMs: number; readonly maxMs: number; readonly random?: () => number },
): number {
  const most = Math.min(of.maxMs, of.baseMs * 2 ** (retry - 1));
  return of.random === undefined ? most : most / 2 + (most / 2) * of.random();
}

/** A time limit, and the signals that end the work before it. */
export interface Deadline {
  /** Aborts when the time is up, or with an outer signal and its reason. */
  readonly signal: AbortSignal;
  /** Settles as `work` does, or rejects with the signal's reason as soon as that aborts. */
  race<T>(work: Promise<T>): Promise<T>;
  /** Stops the timer and removes the listeners from the outer signals. */
  release(): void;
}

/**
 * @param of.remainingMs milliseconds; with 0 or less the time is up at once
 * @param of.timeUp makes the reason with which the signal aborts then
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
    // One listener for each node that runs at the moment, regardless of how wide a workflow fans out.
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
