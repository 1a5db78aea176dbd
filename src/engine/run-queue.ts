import type { NewClaim } from "../storage/platform/runs/create-run.ts";

/** A run that a worker has taken. */
export interface ClaimedRun {
  readonly id: string;
  readonly tenantId: string;
  readonly threadId: string;
  /** Number of this claim of the run: what an older one writes is refused. */
  readonly epoch: number;
}

/** The table of runs, as a queue uses it. */
export interface RunClaims<Run extends ClaimedRun = ClaimedRun> {
  /** Takes the next run that is due, of any tenant; null if there is none. A thread has one open run at most, running or waiting. */
  claim(by: NewClaim): Promise<Run | null>;
  /** Extends a lease. False if the run was claimed again or has ended. */
  renew(
    run: Pick<ClaimedRun, "id" | "epoch">,
    options: { readonly leaseMs: number },
  ): Promise<boolean>;
  /** Puts runs whose lease has ended back into the queue; with `isAll` those of every worker. Returns how many. */
  releaseExpired(of?: { readonly isAll?: boolean }): Promise<number>;
}

/** Executes a claimed run. What goes wrong in the run is written to its row; it throws only if that was not possible. */
export type ExecuteRun<Run extends ClaimedRun = ClaimedRun> = (
  run: Run,
  /** Aborts when the lease is lost, and when the queue stops and the time for its runs is over. */
  signal: AbortSignal,
  /** Aborts when the queue stops: the run is handed over before its next step. */
  draining: AbortSignal,
) => Promise<void>;

/** Takes runs and executes them. Every implementation passes the suite of test/contract/run-queue.ts. */
export interface RunQueue<Run extends ClaimedRun = ClaimedRun> {
  /** Starts taking runs. */
  start(execute: ExecuteRun<Run>): void;
  /**
   * Creates a run by `create`, which claims it with the given claim if it can: this process executes it then. Without room
   * for it there is no claim, and a queue takes the run later. `create` returns a run with an epoch of 0 unless it claimed.
   *
   * @throws what `create` throws
   */
  add(create: (claim: NewClaim | undefined) => Promise<Run>): Promise<Run>;
  /** Looks for runs at once. Call it after a run was queued. */
  wake(): void;
  /** Number of runs that execute in this process. */
  readonly running: number;
  /** Whether another run could begin at once. */
  readonly hasRoom: boolean;
  /**
   * Takes no more runs. Those that execute are handed over before their next step; after `graceMs` milliseconds the rest
   * is aborted. Resolves when all have ended here.
   */
  stop(options: { readonly graceMs: number }): Promise<void>;
}
