import type { Clock } from "../../clock.ts";

/** A time that several calls share. */
export interface TimeBound {
  /** Aborts when the time is over, or with the outer signal. */
  readonly signal: AbortSignal;
  /** Settles as `work` does, or rejects with the signal's reason as soon as that aborts. */
  race<Value>(work: Promise<Value>): Promise<Value>;
  /** Whether no more than half of the time has passed. */
  isYoung(): boolean;
  /** Ends the timer and lets go of the outer signal. */
  release(): void;
}

/** @param timeoutMs milliseconds */
export function timeBound(
  clock: Clock,
  timeoutMs: number,
  outer: AbortSignal | undefined,
): TimeBound {
  const controller = new AbortController();
  const { signal } = controller;
  const begun = clock.monotonic();
  const abort = () => controller.abort(outer?.reason);
  if (outer?.aborted) abort();
  outer?.addEventListener("abort", abort, { once: true });
  const cancel = clock.after(timeoutMs, () =>
    controller.abort(new DOMException("", "TimeoutError")),
  );
  return {
    signal,
    race: (work) =>
      new Promise((resolve, reject) => {
        const stop = () => reject(signal.reason);
        if (signal.aborted) stop();
        else signal.addEventListener("abort", stop, { once: true });
        work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
      }),
    isYoung: () => clock.monotonic() - begun <= timeoutMs / 2,
    release() {
      cancel();
      outer?.removeEventListener("abort", abort);
    },
  };
}
