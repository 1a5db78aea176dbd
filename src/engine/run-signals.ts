import type { Clock } from "../clock.ts";
import type { Run } from "../storage/platform/runs/runs.ts";
import { RunTail } from "./run-tail.ts";

/** Milliseconds between two looks at a run while no notices arrive. */
const pollMs = 250;
/** The same while notices arrive, of which one may be lost. */
const carriedPollMs = 2_000;
/** Milliseconds between the looks of all who wait in this process. */
const lookMs = 4;

/**
 * Wakes those who follow runs. Other processes send notices of their changes through the database. Where none arrive, and
 * in case one is lost, those who follow are woken from time to time.
 */
export class RunSignals {
  readonly #waiting = new Map<string, Set<() => void>>();
  readonly #tails = new Map<string, RunTail>();
  #count = 0;
  #isCarried = false;

  constructor(private readonly clock: Pick<Clock, "after">) {}

  /** Whether notices of other processes arrive. */
  get isCarried(): boolean {
    return this.#isCarried;
  }

  /** Takes what this process tells others. */
  send: (runId: string) => void = () => {};

  /** Begins the tail of a run, which is to be released when the run does not execute here any longer. */
  openTail(run: Pick<Run, "id" | "tenantId" | "lastEvent">): RunTail {
    const tail = new RunTail(run);
    this.#tails.set(run.id, tail);
    // Those who follow it need not read the log from now on.
    this.receive(run.id);
    return tail;
  }

  /** Those who have the tail may read it on. */
  closeTail(runId: string, tail: RunTail): void {
    tail.leave();
    if (this.#tails.get(runId) === tail) this.#tails.delete(runId);
  }

  /** The tail of a run that executes in this process. */
  tailOf(tenantId: string, runId: string): RunTail | undefined {
    const tail = this.#tails.get(runId);
    return tail?.tenantId === tenantId ? tail : undefined;
  }

  /** Tells all processes that a run has changed. */
  notify(runId: string): void {
    this.receive(runId);
    this.send(runId);
  }

  /** Tells this process that a run has changed. */
  receive(runId: string): void {
    for (const wake of this.#waiting.get(runId) ?? []) wake();
  }

  /** Whether notices of other processes arrive from now on. All who wait look once, since some may have been missed. */
  setCarried(isCarried: boolean): void {
    this.#isCarried = isCarried;
    for (const runId of this.#waiting.keys()) this.receive(runId);
  }

  /**
   * Registers for the next signal of a run, and returns the promise of it: register, then read the log, then await.
   * It resolves after `ms` milliseconds at the latest, and at once when `signal` aborts; it never rejects.
   */
  next(
    runId: string,
    { ms = Infinity, signal }: { readonly ms?: number; readonly signal?: AbortSignal } = {},
  ): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(runId) ?? new Set();
      this.#waiting.set(runId, waiting);
      this.#count += 1;
      const wake = () => {
        cancel();
        signal?.removeEventListener("abort", wake);
        if (waiting.delete(wake)) this.#count -= 1;
        if (waiting.size === 0 && this.#waiting.get(runId) === waiting) this.#waiting.delete(runId);
        resolve();
      };
      const most = Math.max(this.#isCarried ? carriedPollMs : pollMs, this.#count * lookMs);
      const cancel = this.clock.after(Math.min(ms, most), wake);
      waiting.add(wake);
      signal?.addEventListener("abort", wake);
    });
  }
}
