import { randomBytes } from "node:crypto";
import type { Clock } from "../clock.ts";
import type { Worker, WorkerEntry, Workers } from "../storage/platform/runs/workers.ts";

/** Milliseconds between two looks for workers whose lock has gone. */
const lookMs = 500;
/** Milliseconds after which a worker writes its row again. */
const publishMs = 5_000;

export interface WorkerWatchOptions {
  readonly workers: Pick<
    Workers,
    "look" | "publish" | "remove" | "removeAll" | "removeSilent" | "takeOver"
  >;
  readonly clock: Clock;
  /** This worker. Its runs are taken over when its lock has gone. */
  readonly self: Omit<WorkerEntry, "running" | "lockKey" | "startedAt">;
  /** Whether this process takes runs, and so has a row. */
  readonly isWorker: boolean;
  /** Whether no other process uses the database: rows at the start are those of processes that have died. */
  readonly isAlone: boolean;
  /** Whether other processes may use the database. */
  readonly isShared: boolean;
  readonly running: () => number;
  /** Called after runs of a worker that has died were put back. */
  readonly onTakeover: (lost: Pick<Worker, "id"> & { readonly runs: number }) => void;
  /** Called once with what keeps the looks from working, until one has worked again. */
  readonly onError: (error: unknown) => void;
}

/**
 * The row of this worker, and the watch over the others. A worker holds an advisory lock on its session for notices, which
 * ends with its process: when the lock has gone, one of the others removes the row and puts the runs back.
 *
 * A worker that lives may lose that session too. It then says in its row at once that it has no lock, and takes another
 * one, under a new key, on its next session. Others take a worker for dead only if the same key was missing in two looks,
 * so that it has half a second for this. If the database kept it from writing as well, its runs are put back although it
 * lives: other workers continue them, the fence of epochs refuses all that this one writes, its renewals fail and it stops
 * their execution. What it may still do is to end a call of a tool that had begun, as a frozen process can.
 *
 * A process that is stopped and not dead keeps its session, and so its lock: the lease decides.
 */
export class WorkerWatch {
  readonly #startedAt: Date;
  /** Keys that were missing in the look before, by id of their worker. */
  #suspected = new Map<string, string>();
  /** The lock of the newest session, and of the session that is connected. */
  #taken: string | null = null;
  #lockKey: string | null = null;
  #publishedAt = Number.NEGATIVE_INFINITY;
  #publishing: Promise<void> = Promise.resolve();
  #round: Promise<void> = Promise.resolve();
  #cancel = () => {};
  #isStopped = false;
  #hasFailed = false;

  constructor(private readonly options: WorkerWatchOptions) {
    this.#startedAt = options.clock.now();
  }

  /** Takes the lock of this worker on a new session for notices. */
  async hold(session: {
    query(text: string, values: readonly unknown[]): Promise<unknown>;
  }): Promise<void> {
    if (!this.options.isWorker) return;
    // A session that was lost may keep its lock for a while: each has a key of its own.
    const key = (randomBytes(8).readBigUInt64BE() >> 1n).toString();
    await session.query("select pg_advisory_lock($1::bigint)", [key]);
    this.#taken = key;
  }

  /** Call it when the session for notices is there, and when it was lost. */
  setConnected(isConnected: boolean): void {
    this.#lockKey = isConnected ? this.#taken : null;
    this.#publishedAt = Number.NEGATIVE_INFINITY;
    void this.#publish();
  }

  start(): void {
    const first = async () => {
      const { workers, isAlone } = this.options;
      if (isAlone) await workers.removeAll();
    };
    this.#round = first().catch(this.#fail).then(this.#look);
  }

  /** Stops watching, and removes the row of this worker. Call it when its runs have ended or were handed over. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancel();
    await this.#round;
    await this.#publishing;
    const { workers, isWorker, self } = this.options;
    if (isWorker) await workers.remove(self.id).catch(this.#fail);
  }

  readonly #look = async (): Promise<void> => {
    if (this.#isStopped) return;
    const { clock, workers, self, isWorker, isShared } = this.options;
    try {
      const isDue = clock.monotonic() - this.#publishedAt >= publishMs;
      if (isDue) {
        await this.#publish();
        await workers.removeSilent();
      }
      if (isShared) {
        const { lost, isKnown } = await workers.look(self.id);
        if (isWorker && !isKnown) await this.#publish();
        const before = this.#suspected;
        this.#suspected = new Map(lost.map(({ id, lockKey }) => [id, lockKey]));
        for (const one of lost) {
          if (before.get(one.id) !== one.lockKey) continue;
          const runs = await workers.takeOver(one);
          if (runs !== null) this.options.onTakeover({ id: one.id, runs });
        }
      }
      this.#hasFailed = false;
    } catch (error) {
      // After an outage the locks of all workers are gone for a while.
      this.#suspected = new Map();
      this.#fail(error);
    }
    if (!this.#isStopped) {
      this.#cancel = clock.after(
        lookMs,
        () => {
          this.#round = this.#look();
        },
        { keepsAlive: false },
      );
    }
  };

  /** Writes the row, one write after the other: the last one has the newest key. */
  #publish(): Promise<void> {
    const { workers, clock, self, isWorker, running } = this.options;
    const write = async () => {
      if (this.#isStopped) return;
      const from = clock.monotonic();
      if (isWorker) {
        const own = { lockKey: this.#lockKey, running: running(), startedAt: this.#startedAt };
        await workers.publish({ ...self, ...own });
      }
      this.#publishedAt = from;
    };
    this.#publishing = this.#publishing.then(write).catch(this.#fail);
    return this.#publishing;
  }

  readonly #fail = (error: unknown): void => {
    if (!this.#hasFailed) this.options.onError(error);
    this.#hasFailed = true;
  };
}
