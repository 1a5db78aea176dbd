import type { ClaimedRun } from "../../../src/engine/run-queue.ts";
import type { LostWorker, WorkerEntry } from "../../../src/storage/platform/runs/workers.ts";

export interface SimulatedRun {
  readonly id: string;
  readonly threadId: string;
  /** Its place in the thread. */
  readonly seq: number;
  readonly steps: number;
  state: "queued" | "running" | "complete";
  epoch: number;
  worker: string | null;
  leaseUntil: number;
  /** Steps that are stored as ended. */
  done: number;
  ends: number;
  /** The last time that the run was put back though its worker may live, in time of the world. */
  takenOverAt: number;
}

interface WorkerRow {
  name: string;
  lockKey: string | null;
  seenAt: number;
}

/** The tables of runs and of workers as the statements of the platform change them, and the locks of sessions. */
export class RunTable {
  readonly runs: SimulatedRun[] = [];
  readonly workers = new Map<string, WorkerRow>();
  /** Keys of the locks that sessions hold. */
  readonly locks = new Set<string>();
  leaseEnds = 0;
  takeovers = 0;

  constructor(
    private readonly time: () => number,
    /** Called for each run of a worker that was put back. */
    private readonly onPutBack: (worker: string) => void,
  ) {}

  get isEmpty(): boolean {
    return this.runs.every(({ state }) => state === "complete");
  }

  claim(worker: string, now: Date, leaseMs: number): ClaimedRun | null {
    const open = new Set(this.runs.filter((run) => run.state === "running").map(threadOf));
    const run = this.runs.find((one) => {
      if (one.state !== "queued" || open.has(one.threadId)) return false;
      return !this.runs.some(
        (other) =>
          other.threadId === one.threadId && other.seq < one.seq && other.state !== "complete",
      );
    });
    if (run === undefined) return null;
    Object.assign(run, {
      state: "running",
      epoch: run.epoch + 1,
      worker,
      leaseUntil: now.getTime() + leaseMs,
    });
    const { id, threadId, epoch } = run;
    return { id, tenantId: "t", threadId, epoch };
  }

  renew({ id, epoch }: Pick<ClaimedRun, "id" | "epoch">, now: Date, leaseMs: number): boolean {
    const run = this.#held({ id, epoch });
    if (run === undefined) return false;
    run.leaseUntil = now.getTime() + leaseMs;
    return true;
  }

  releaseExpired(now: Date): number {
    const ended = this.runs.filter(
      (run) => run.state === "running" && run.leaseUntil <= now.getTime(),
    );
    this.leaseEnds += ended.length;
    return this.#putBack(ended);
  }

  /** A write of a run, which its fence lets through or not. */
  write(claim: Pick<ClaimedRun, "id" | "epoch">, change: (run: SimulatedRun) => void): boolean {
    const run = this.#held(claim);
    if (run !== undefined) change(run);
    return run !== undefined;
  }

  finish(claim: Pick<ClaimedRun, "id" | "epoch">): boolean {
    return this.write(claim, (run) => {
      run.state = "complete";
      run.ends += 1;
      run.worker = null;
    });
  }

  /** Puts a run back that its worker hands over. */
  handOver(claim: Pick<ClaimedRun, "id" | "epoch">): boolean {
    return this.write(claim, (run) => void this.#putBack([run]));
  }

  publish({ id, name, lockKey }: Pick<WorkerEntry, "id" | "name" | "lockKey">): void {
    this.workers.set(id, { name, lockKey, seenAt: this.time() });
  }

  look(own: string): { lost: readonly LostWorker[]; isKnown: boolean } {
    const lost = [...this.workers].flatMap(([id, { lockKey }]) =>
      id !== own && lockKey !== null && !this.locks.has(lockKey) ? [{ id, lockKey }] : [],
    );
    return { lost, isKnown: this.workers.has(own) };
  }

  takeOver({ id, lockKey }: LostWorker): number | null {
    const row = this.workers.get(id);
    if (row?.lockKey !== lockKey || this.locks.has(lockKey)) return null;
    this.workers.delete(id);
    const runs = this.runs.filter((run) => run.state === "running" && run.worker === row.name);
    this.takeovers += runs.length;
    for (const run of runs) run.takenOverAt = this.time();
    return this.#putBack(runs);
  }

  removeSilent(): void {
    for (const [id, { lockKey, seenAt }] of this.workers)
      if (lockKey === null && this.time() - seenAt > 60_000) this.workers.delete(id);
  }

  #putBack(runs: readonly SimulatedRun[]): number {
    for (const run of runs) {
      this.onPutBack(run.worker!);
      Object.assign(run, { state: "queued", worker: null });
    }
    return runs.length;
  }

  #held({ id, epoch }: Pick<ClaimedRun, "id" | "epoch">): SimulatedRun | undefined {
    return this.runs.find((run) => run.id === id && run.epoch === epoch && run.state === "running");
  }
}

function threadOf({ threadId }: SimulatedRun): string {
  return threadId;
}
