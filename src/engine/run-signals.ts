import type { Clock } from "../clock.ts";

/** Wakes those who follow the events of runs of this process. Runs of other processes are looked at from time to time. */
export class RunSignals {
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(private readonly clock: Pick<Clock, "after">) {}

  /** Tells that events of a run were written. */
  notify(runId: string): void {
    for (const wake of this.#waiting.get(runId) ?? []) wake();
  }

  /**
   * Registers for the next signal of a run, and returns the promise of it: register, then read the log, then await.
   * It resolves after `ms` milliseconds at the latest, and at once when `signal` aborts; it never rejects.
   */
  next(
    runId: string,
    { ms, signal }: { readonly ms: number; readonly signal?: AbortSignal },
  ): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(runId) ?? new Set();
      this.#waiting.set(runId, waiting);
      const wake = () => {
        cancel();
        signal?.removeEventListener("abort", wake);
        waiting.delete(wake);
        if (waiting.size === 0 && this.#waiting.get(runId) === waiting) this.#waiting.delete(runId);
        resolve();
      };
      const cancel = this.clock.after(ms, wake);
      waiting.add(wake);
      signal?.addEventListener("abort", wake);
    });
  }
}
