import type { Clock } from "../clock.ts";
import { StratagraphError } from "../errors.ts";
import type { NewClaim, WorkerScope } from "../storage/platform/runs/create-run.ts";
import type { ClaimedRun, ExecuteRun, RunClaims, RunQueue } from "./run-queue.ts";

/** Milliseconds after which a run is claimed again whose first execution could not write its end. */
const firstRetryMs = 1_000;

/** The lease of a run was lost: the run was claimed again, or the lease could not be renewed in time. */
class LeaseEndedError extends StratagraphError {
  readonly code = "lease_ended";
  override readonly kind = "run";
  override readonly leavesTurnOpen = true;

  constructor(readonly runId: string) {
    super(`The lease of run ${runId} has ended. Another worker continues the run.`);
  }
}

/** The queue stops. The reason of the signals of its runs. */
class QueueStoppedError extends StratagraphError {
  readonly code = "queue_stopped";
  override readonly kind = "run";
  override readonly leavesTurnOpen = true;

  constructor() {
    super("The worker stops before the run has ended. The run continues when it is claimed again.");
  }
}

export interface RunTableQueueOptions<Run extends ClaimedRun> extends WorkerScope {
  readonly claims: RunClaims<Run>;
  readonly clock: Clock;
  /** Name of this process in the table of runs. */
  readonly worker: string;
  /** Maximum number of runs at the same time. Default 16. */
  readonly concurrency?: number;
  /** Milliseconds between looks at the table while nothing wakes the queue. Default 1,000. */
  readonly pollMs?: number;
  /** Milliseconds of a lease, which is renewed three times in that time. Default 15,000. */
  readonly leaseMs?: number;
  /** Whether no other process takes runs: leases at the start are those of a process that has died. Default false. */
  readonly isAlone?: boolean;
  /** Called with errors of the database and of `execute`; the queue continues. */
  readonly onError: (error: unknown) => void;
}

/** A run that was taken. */
interface BegunRun<Run extends ClaimedRun> {
  readonly execute: ExecuteRun<Run>;
  /** When its lease was asked for, by the monotonic clock. */
  readonly from: number;
}

/** The queue on the table of runs, in any number of processes on the same database. */
export function createRunTableQueue<Run extends ClaimedRun>(
  options: RunTableQueueOptions<Run>,
): RunQueue<Run> {
  return new RunTableQueue(options);
}

class RunTableQueue<Run extends ClaimedRun> implements RunQueue<Run> {
  readonly #options: RunTableQueueOptions<Run>;
  readonly #concurrency: number;
  readonly #pollMs: number;
  readonly #leaseMs: number;
  readonly #claim: NewClaim;
  readonly #executing = new Set<Promise<void>>();
  readonly #aborts = new Set<AbortController>();
  readonly #draining = new AbortController();
  #execute: ExecuteRun<Run> | undefined;
  #cancelPoll: (() => void) | undefined;
  #taking: Promise<void> | undefined;
  #isAwake = false;
  /** Whether ended leases are looked for. */
  #isDue = true;
  /** Whether the last look found no run to take. */
  #isEmpty = false;
  /** Whether the queue was stopped, and the time for its runs is over. */
  #isLate = false;
  /** Whether a run was queued here since the last look began, which may have missed it. */
  #hasQueued = false;
  /** Whether a claim is under way, which may return a run. */
  #isClaiming = false;
  /** Whether leases of other workers are taken for ended ones. */
  #isFirst: boolean;

  constructor(options: RunTableQueueOptions<Run>) {
    this.#options = options;
    this.#concurrency = options.concurrency ?? 16;
    this.#pollMs = options.pollMs ?? 1_000;
    this.#leaseMs = options.leaseMs ?? 15_000;
    const { worker, kinds, labels } = options;
    this.#claim = {
      worker,
      leaseMs: this.#leaseMs,
      ...(kinds && { kinds }),
      ...(labels && { labels }),
    };
    this.#isFirst = options.isAlone === true;
  }

  get running(): number {
    return this.#executing.size;
  }

  get hasRoom(): boolean {
    return this.running + Number(this.#isClaiming) < this.#concurrency;
  }

  async add(create: (claim: NewClaim | undefined) => Promise<Run>): Promise<Run> {
    const execute = this.#execute;
    // Those who wait come first.
    if (execute === undefined || !this.#isEmpty || !this.hasRoom) {
      const run = await create(undefined);
      this.#isEmpty = false;
      this.#hasQueued = true;
      this.wake();
      return run;
    }
    const from = this.#options.clock.monotonic();
    const creating = create(this.#claim);
    const settled = creating.then(
      () => undefined,
      () => undefined,
    );
    // It takes a place, and a queue that stops waits for it, too.
    this.#executing.add(settled);
    let isBegun = false;
    try {
      const run = await creating;
      isBegun = run.epoch > 0;
      if (isBegun) this.#begin(run, { execute, from });
      return run;
    } finally {
      this.#executing.delete(settled);
      if (!isBegun) this.wake();
    }
  }

  start(execute: ExecuteRun<Run>): void {
    this.#execute = execute;
    this.wake();
  }

  wake(): void {
    if (this.#execute === undefined) return;
    this.#isAwake = true;
    this.#taking ??= this.#take().finally(() => {
      this.#taking = undefined;
      // A call that came between the last look and here.
      if (this.#isAwake) this.wake();
    });
  }

  async stop({ graceMs }: { readonly graceMs: number }): Promise<void> {
    this.#execute = undefined;
    this.#isAwake = false;
    this.#cancelPoll?.();
    this.#draining.abort(new QueueStoppedError());
    await this.#taking;
    const cancel = this.#options.clock.after(graceMs, () => {
      this.#isLate = true;
      for (const abort of this.#aborts) abort.abort(new QueueStoppedError());
    });
    // A run that was being created begins meanwhile.
    while (this.#executing.size > 0) await Promise.all(this.#executing);
    cancel();
  }

  /** Takes runs until there are none, or as many execute as may. */
  async #take(): Promise<void> {
    const { claims, clock, onError } = this.#options;
    this.#cancelPoll?.();
    try {
      while (this.#isAwake) {
        this.#isAwake = false;
        if (this.#isDue) await claims.releaseExpired({ isAll: this.#isFirst });
        this.#isDue = this.#isFirst = false;
        while (this.hasRoom) {
          const execute = this.#execute;
          this.#isClaiming = true;
          this.#hasQueued = false;
          const from = clock.monotonic();
          const run = execute && (await claims.claim(this.#claim));
          this.#isClaiming = false;
          this.#isEmpty = !run && !this.#hasQueued;
          if (!run) break;
          // Also when the queue was stopped meanwhile: it waits for this run as for the others.
          this.#begin(run, { execute, from });
        }
      }
    } catch (error) {
      onError(error);
    } finally {
      this.#isClaiming = false;
    }
    if (this.#execute === undefined) return;
    this.#cancelPoll = clock.after(this.#pollMs, () => {
      this.#isDue = true;
      this.wake();
    });
  }

  #begin(run: Run, begun: BegunRun<Run>): void {
    const executing = this.#run(run, begun).finally(() => {
      this.#executing.delete(executing);
      this.wake();
    });
    this.#executing.add(executing);
  }

  async #run(run: Run, { execute, from }: BegunRun<Run>): Promise<void> {
    const abort = new AbortController();
    this.#aborts.add(abort);
    if (this.#isLate) abort.abort(new QueueStoppedError());
    const lease = this.#keepLease(run, { abort, from });
    try {
      await execute(run, abort.signal, this.#draining.signal);
    } catch (error) {
      lease.end();
      this.#options.onError(error);
      await this.#endLeaseSoon(run);
    } finally {
      lease.end();
      this.#aborts.delete(abort);
    }
  }

  /**
   * Has a run whose end was not written claimed again soon after the database answers: after a second, and later with each
   * claim, up to a lease.
   */
  async #endLeaseSoon(run: Run): Promise<void> {
    const { claims, clock } = this.#options;
    const leaseMs = Math.min(this.#leaseMs, firstRetryMs * 2 ** Math.min(run.epoch - 1, 10));
    const { signal } = this.#draining;
    const end = clock.monotonic() + this.#leaseMs;
    do {
      try {
        await claims.renew(run, { leaseMs });
        return;
      } catch {
        await new Promise<void>((resolve) => {
          const wake = () => {
            cancel();
            signal.removeEventListener("abort", wake);
            resolve();
          };
          const cancel = clock.after(firstRetryMs, wake);
          signal.addEventListener("abort", wake);
        });
      }
    } while (!signal.aborted && clock.monotonic() < end);
  }

  /** Renews the lease until the run has ended, and aborts the run before a lease ends that could not be renewed. */
  #keepLease(
    run: Run,
    { abort, from: claimedAt }: { readonly abort: AbortController; readonly from: number },
  ): { readonly end: () => void } {
    const { clock, claims, onError } = this.#options;
    const leaseMs = this.#leaseMs;
    let isEnded = false;
    let cancelRenewal = () => {};
    let cancelEnd = () => {};
    const end = () => {
      isEnded = true;
      cancelRenewal();
      cancelEnd();
    };
    const lose = () => {
      end();
      abort.abort(new LeaseEndedError(run.id));
    };
    /** The lease was taken at `from` at the latest: the answer may have come late. */
    const endLater = (from: number) => {
      cancelEnd();
      cancelEnd = clock.after(leaseMs * 0.9 - (clock.monotonic() - from), lose);
    };
    const renew = async (): Promise<void> => {
      const from = clock.monotonic();
      try {
        const isRenewed = await claims.renew(run, { leaseMs });
        if (isEnded) return;
        if (!isRenewed) return lose();
        endLater(from);
      } catch (error) {
        onError(error);
      }
    };
    const renewLater = () => {
      cancelRenewal = clock.after(leaseMs / 3, () => {
        void renew();
        renewLater();
      });
    };
    endLater(claimedAt);
    renewLater();
    return { end };
  }
}
