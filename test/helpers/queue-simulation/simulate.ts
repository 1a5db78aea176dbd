import type { ClaimedRun, RunClaims, RunQueue } from "../../../src/engine/run-queue.ts";
import { createRunTableQueue } from "../../../src/engine/run-table-queue.ts";
import { WorkerWatch } from "../../../src/engine/worker-watch.ts";
import { seededRandom, type Random } from "../random.ts";
import { RunTable } from "./run-table.ts";
import { SimulatedProcess, World } from "./world.ts";

const leaseMs = 15_000;
/** Time in which faults happen. */
const faultsMs = 60_000;
/** Time after it in which all must end. */
const quietMs = 120_000;

export interface Simulation {
  /** Rules that were broken. */
  readonly violations: readonly string[];
  readonly faults: number;
  /** Runs that were put back since their lease had ended, and since their worker had died. */
  readonly leaseEnds: number;
  readonly takeovers: number;
  /** Milliseconds from the death of a worker until one of its runs was put back. */
  readonly takeoverMs: readonly number[];
}

interface SimulatedWorker {
  readonly process: SimulatedProcess;
  readonly queue: RunQueue;
  readonly watch: WorkerWatch;
  readonly concurrency: number;
  /** The lock of its session. */
  lockKey: string | null;
}

interface Execution {
  readonly claim: ClaimedRun;
  readonly process: SimulatedProcess;
  readonly signal: AbortSignal;
  /** Whether it has sent its last write. */
  isEnding: boolean;
}

/**
 * Runs the queue and the watch of several workers on one table in virtual time, while processes are killed, frozen and cut
 * off, messages are late or lost, and clocks differ. One seed and number is one schedule.
 */
export async function simulate(schedule: number, seed?: number): Promise<Simulation> {
  return new Schedule(seededRandom(`queue ${schedule}`, seed)).run();
}

class Schedule {
  readonly #world = new World();
  readonly #table = new RunTable(
    () => this.#world.time,
    (worker) => {
      const diedAt = this.#died.get(worker);
      if (diedAt !== undefined) this.#takeoverMs.push(this.#world.time - diedAt);
    },
  );
  /** When workers were killed. */
  readonly #died = new Map<string, number>();
  readonly #workers = new Set<SimulatedWorker>();
  readonly #executions = new Set<Execution>();
  readonly #violations = new Set<string>();
  readonly #takeoverMs: number[] = [];
  #faults = 0;
  #named = 0;

  constructor(private readonly random: Random) {}

  async run(): Promise<Simulation> {
    const { random } = this;
    for (let n = random.int(2, 5); n > 0; n -= 1) this.#startWorker();
    const threads = random.int(2, 6);
    for (let n = random.int(8, 25); n > 0; n -= 1) {
      this.#world.at(random.int(0, faultsMs), () => this.#addRun(`t${random.int(0, threads)}`));
    }
    for (let n = random.int(3, 12); n > 0; n -= 1)
      this.#world.at(random.int(0, faultsMs), () => this.#fault());
    await this.#world.run(faultsMs, () => false);
    await this.#world.run(faultsMs + quietMs, () => this.#table.isEmpty);
    this.#checkEnd();
    for (const worker of this.#workers) worker.process.isDead = true;
    const { leaseEnds, takeovers } = this.#table;
    return {
      violations: [...this.#violations],
      faults: this.#faults,
      leaseEnds,
      takeovers,
      takeoverMs: this.#takeoverMs,
    };
  }

  #addRun(threadId: string): void {
    const { runs } = this.#table;
    const seq = runs.filter((run) => run.threadId === threadId).length;
    runs.push({
      id: `r${runs.length}`,
      threadId,
      seq,
      steps: this.random.int(1, 8),
      state: "queued",
      epoch: 0,
      worker: null,
      leaseUntil: 0,
      done: 0,
      ends: 0,
      takenOverAt: Number.NEGATIVE_INFINITY,
    });
  }

  #startWorker(): void {
    const { random } = this;
    const table = this.#table;
    this.#named += 1;
    const name = `w${this.#named}`;
    const skewMs = random.int(-500, 501);
    const process = new SimulatedProcess(name, this.#world, random, skewMs, 0.999 + random() / 500);
    const { clock } = process;
    const claims: RunClaims = {
      claim: (by) => {
        const now = clock.now();
        return process.ask(() => table.claim(by.worker, now, by.leaseMs));
      },
      renew: (run, of) => {
        const now = clock.now();
        return process.ask(() => table.renew(run, now, of.leaseMs));
      },
      releaseExpired: () => {
        const now = clock.now();
        return process.ask(() => table.releaseExpired(now));
      },
    };
    const onError = () => {};
    const concurrency = random.int(1, 4);
    const queue = createRunTableQueue({
      claims,
      clock,
      worker: name,
      concurrency,
      leaseMs,
      onError,
    });
    const watch = new WorkerWatch({
      workers: {
        publish: (entry) => process.ask(() => table.publish(entry)),
        remove: (id) => process.ask(() => void table.workers.delete(id)),
        removeAll: () => process.ask(() => table.workers.clear()),
        removeSilent: () => process.ask(() => table.removeSilent()),
        look: (own) => process.ask(() => table.look(own)),
        takeOver: (lost) => process.ask(() => table.takeOver(lost)),
      },
      clock,
      self: { id: name, name, host: "host", pid: 1, version: "1", concurrency },
      isWorker: true,
      isAlone: false,
      isShared: true,
      running: () => queue.running,
      onTakeover: () => {
        for (const other of this.#workers) other.process.clock.after(1, () => other.queue.wake());
      },
      onError,
    });
    const worker: SimulatedWorker = { process, queue, watch, concurrency, lockKey: null };
    this.#workers.add(worker);
    void this.#connect(worker);
    watch.start();
    queue.start((claim, signal, draining) => this.#execute(worker, { claim, signal, draining }));
  }

  /** Opens the session for notices, and takes its lock. */
  async #connect(worker: SimulatedWorker): Promise<void> {
    const { process, watch } = worker;
    try {
      await watch.hold({
        query: (_text, [key]) =>
          process.ask(() => {
            if (process.isDead) return;
            worker.lockKey = key as string;
            this.#table.locks.add(worker.lockKey);
          }),
      });
      watch.setConnected(true);
    } catch {
      process.clock.after(500, () => void this.#connect(worker));
    }
  }

  #disconnect(worker: SimulatedWorker): void {
    if (worker.lockKey !== null) this.#table.locks.delete(worker.lockKey);
    worker.lockKey = null;
    worker.process.clock.after(this.random.int(1, 200), () => {
      worker.watch.setConnected(false);
      worker.process.clock.after(this.random.int(10, 1_000), () => void this.#connect(worker));
    });
  }

  #fault(): void {
    const { random } = this;
    const workers = [...this.#workers].filter(({ process }) => !process.isDead);
    const worker = workers[random.int(0, workers.length)];
    if (worker === undefined) return;
    this.#faults += 1;
    switch (random.int(0, 5)) {
      case 0:
        return this.#kill(worker);
      case 1:
        return worker.process.freeze(random.int(500, 40_000));
      case 2:
        // The server ends the session of a host that it does not reach, sooner or later.
        worker.process.cut(random.int(500, 30_000));
        this.#world.after(random.int(0, 20_000), () => {
          if (worker.process.isCut) this.#disconnect(worker);
        });
        return;
      case 3:
        return this.#disconnect(worker);
      case 4:
        return void this.#stop(worker);
    }
  }

  #kill(worker: SimulatedWorker): void {
    const { process } = worker;
    process.isDead = true;
    this.#workers.delete(worker);
    for (const execution of this.#executions)
      if (execution.process === process) this.#executions.delete(execution);
    this.#died.set(process.name, this.#world.time);
    this.#world.after(this.random.int(1, 30), () => {
      if (worker.lockKey !== null) this.#table.locks.delete(worker.lockKey);
    });
    this.#world.after(this.random.int(500, 5_000), () => this.#startWorker());
  }

  /** Stops a worker as SIGTERM does, and starts another one. */
  async #stop(worker: SimulatedWorker): Promise<void> {
    const { process, queue, watch } = worker;
    this.#workers.delete(worker);
    this.#world.after(this.random.int(10, 1_000), () => this.#startWorker());
    await queue.stop({ graceMs: 5_000 });
    await watch.stop();
    if (worker.lockKey !== null) this.#table.locks.delete(worker.lockKey);
    process.isDead = true;
  }

  async #execute(
    worker: SimulatedWorker,
    of: {
      readonly claim: ClaimedRun;
      readonly signal: AbortSignal;
      readonly draining: AbortSignal;
    },
  ): Promise<void> {
    const { process, queue, concurrency } = worker;
    const { claim, signal, draining } = of;
    const table = this.#table;
    const execution: Execution = { claim, process, signal, isEnding: false };
    this.#executions.add(execution);
    if (queue.running > concurrency) this.#violate(`${process.name} executes too many runs`);
    this.#checkAlone(claim);
    try {
      const run = table.runs.find(({ id }) => id === claim.id)!;
      let step = -1;
      if (!(await process.ask(() => table.write(claim, ({ done }) => (step = done))))) return;
      while (step < run.steps) {
        await process.sleep(this.random.int(5, 3_000));
        if (signal.aborted) return;
        this.#checkAlone(claim);
        const from = step;
        const isWritten = await process.ask(() =>
          table.write(claim, (held) => {
            if (held.done !== from) this.#violate(`step ${from} of ${held.id} ended twice`);
            held.done = from + 1;
          }),
        );
        if (!isWritten || signal.aborted) return;
        step += 1;
        if (draining.aborted && step < run.steps) {
          execution.isEnding = true;
          return void (await process.ask(() => table.handOver(claim)));
        }
      }
      execution.isEnding = true;
      await process.ask(() => table.finish(claim));
    } finally {
      this.#executions.delete(execution);
    }
  }

  /**
   * No two executions work on a thread, but for those of a worker that lost its session: it learns within a lease that its
   * runs were taken over.
   */
  #checkAlone({ threadId }: ClaimedRun): void {
    const active = [...this.#executions].filter(({ claim, process, signal, isEnding }) => {
      if (claim.threadId !== threadId || isEnding) return false;
      if (signal.aborted || process.isDead || process.isDazed) return false;
      const { takenOverAt, epoch } = this.#table.runs.find(({ id }) => id === claim.id)!;
      return epoch === claim.epoch || this.#world.time > takenOverAt + leaseMs;
    });
    if (active.length < 2) return;
    const names = active.map(({ claim, process }) => `${process.name} ${claim.id}.${claim.epoch}`);
    this.#violate(`one thread is executed by ${names.join(" and ")}`);
  }

  #checkEnd(): void {
    for (const { id, state, ends, done, steps } of this.#table.runs) {
      if (state !== "complete") this.#violate(`${id} was lost: ${state}`);
      else if (ends !== 1 || done !== steps) this.#violate(`${id} ended ${ends} times`);
    }
  }

  #violate(rule: string): void {
    if (this.#violations.size < 20)
      this.#violations.add(`${Math.round(this.#world.time)} ms: ${rule}`);
  }
}
