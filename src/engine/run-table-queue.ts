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

/** Claims of one process at the same time. */
const maxClaims = 4;

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
  /** Claims under way, each of which may return a run. */
  readonly #claiming = new Set<Promise<void>>();
  #execute: ExecuteRun<Run> | undefined;
  #cancelPoll: (() => void) | undefined;
  #releasing: Promise<void> | undefined;
  /** Whether a run was queued, or a place became free, that no claim under way may have seen. */
  #isAwake = false;
  /** Whether ended leases are looked for. */
  #isDue = true;
  /** Whether the last claim found no run to take. */
  #isEmpty = false;
  /** Whether the queue was stopped, and the time for its runs is over. */
  #isLate = false;
  /** Number of runs that were queued here: a claim that began before the last of them may have missed it. */
  #queued = 0;
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
    return this.running + this.#claiming.size < this.#concurrency;
  }

  async add(create: (claim: NewClaim | undefined) => Promise<Run>): Promise<Run> {
    const execute = this.#execute;
    // Those who wait come first.
    if (execute === undefined || !this.#isEmpty || !this.hasRoom) {
      const run = await create(undefined);
      this.#isEmpty = false;
      this.#queued += 1;
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
    if (this.#isDue) this.#releasing ??= this.#release();
    else this.#look();
  }

  async stop({ graceMs }: { readonly graceMs: number }): Promise<void> {
    this.#execute = undefined;
    this.#isAwake = false;
    this.#cancelPoll?.();
    this.#draining.abort(new QueueStoppedError());
    await this.#releasing;
    // A run that is being claimed begins, too: it is handed over.
    await Promise.all(this.#claiming);
    const cancel = this.#options.clock.after(graceMs, () => {
      this.#isLate = true;
      for (const abort of this.#aborts) abort.abort(new QueueStoppedError());
    });
    // A run that was being created begins meanwhile.
    while (this.#executing.size > 0) await Promise.all(this.#executing);
    cancel();
  }

  /** Puts runs back whose lease has ended, and looks for runs. */
  async #release(): Promise<void> {
    const { claims, onError } = this.#options;
    const isAll = this.#isFirst;
    this.#cancelPoll?.();
    this.#isDue = false;
    try {
      await claims.releaseExpired({ isAll });
      this.#isFirst = false;
    } catch (error) {
      onError(error);
    }
    this.#releasing = undefined;
    this.#pollLater();
    this.#look();
  }

  #pollLater(): void {
    if (this.#execute === undefined) return;
    this.#cancelPoll = this.#options.clock.after(this.#pollMs, () => {
      this.#isDue = true;
      this.wake();
    });
  }

  /** Begins a claim, unless as many are under way as may. One that returns a run begins the next. */
  #look(): void {
    const execute = this.#execute;
    if (!this.#isAwake || execute === undefined || this.#releasing !== undefined) return;
    if (!this.hasRoom || this.#claiming.size === maxClaims) return;
    this.#isAwake = false;
    const claiming = this.#take(execute).finally(() => {
      this.#claiming.delete(claiming);
      this.#look();
    });
    this.#claiming.add(claiming);
  }

  async #take(execute: ExecuteRun<Run>): Promise<void> {
    const { claims, clock, onError } = this.#options;
    const [from, queued] = [clock.monotonic(), this.#queued];
    try {
      const run = await claims.claim(this.#claim);
      this.#isEmpty = run === null && queued === this.#queued;
      if (run === null) return;
      this.#isAwake = true;
      // Also when the queue was stopped meanwhile: it waits for this run as for the others.
      this.#begin(run, { execute, from });
    } catch (error) {
      onError(error);
    }
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
