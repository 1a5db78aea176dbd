import { hostname } from "node:os";
import type { Clock, IdSource } from "../clock.ts";
import { packageVersion } from "../own-package.ts";
import { type Database, vacuumChanged } from "../storage/database.ts";
import type { Platform } from "../storage/platform/open-platform.ts";
import { isInScope, type WorkerScope } from "../storage/platform/runs/create-run.ts";
import { readRunVersions } from "../storage/platform/runs/run-versions.ts";
import type { Run } from "../storage/platform/runs/runs.ts";
import type { Notices } from "../storage/postgres-notices.ts";
import { type RunEnd, RunExecutor, type RunExecutorOptions } from "./run-executor.ts";
import type { RunQueue } from "./run-queue.ts";
import { createRunTableQueue } from "./run-table-queue.ts";
import { RunSignals, threadOfSignal, type Versions } from "./run-signals.ts";
import { dueEveryMs, dueRunsJob } from "./time/due-runs.ts";
import {
  type EphemeralThreadsOptions,
  ephemeralThreadsJob,
  platformJobs,
  startUpkeep,
  type UpkeepJob,
} from "./upkeep.ts";
import { WebhookSender, type WebhookSenderOptions } from "./webhook-sender.ts";
import { WorkerWatch } from "./worker-watch.ts";

export interface RunWorkerOptions
  extends Pick<RunExecutorOptions, "useServices" | "loadAgent" | "onError">, WorkerScope {
  readonly platform: Platform;
  readonly deleteThread: EphemeralThreadsOptions["deleteThread"];
  /** Archives and deletes what has reached its age, until the signal aborts. */
  readonly retention: (signal: AbortSignal) => ReturnType<UpkeepJob>;
  /** Tells its other processes what changes here. An embedded one is vacuumed. */
  readonly database: Pick<Database, "kind" | "pool" | "openNotices">;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** Runs that execute at the same time. 0: other processes execute runs and send webhooks. */
  readonly concurrency: number;
  /** Whether no other process uses the database: runs under way at the start are those of one that has died. */
  readonly isAlone: boolean;
  /** Private hosts that webhooks may call. */
  readonly httpAllow: WebhookSenderOptions["httpAllow"];
  readonly logger: Record<"info" | "warn", (fields: object, message: string) => void>;
}

/** The channel of notices. Their texts are ids of runs that have changed. */
const channel = "stratagraph_runs";
/** Milliseconds between two looks for threads of stateless runs to be deleted. */
const ephemeralEveryMs = 30_000;
/** Milliseconds between two vacuums of an embedded database: the interval of autovacuum on a server. */
const vacuumEveryMs = 60_000;
/** The notice that a run was queued which its process did not begin. */
const queued = "queued";

/** The queue of this process, as those who queue runs use it. */
export interface RunQueueDoor extends Pick<RunQueue<Run>, "add" | "running"> {
  /**
   * Call it after a run was queued without `add`: this process takes it at once if it can, or else another one.
   *
   * @param run default: one that any worker takes
   */
  wake(run?: Pick<Run, "kind" | "labels">): void;
}

/** Executes runs, sends webhooks and keeps the tables in order, while the process answers requests. */
export interface RunWorker {
  /** Name of this process in the table of runs. */
  readonly name: string;
  readonly queue: RunQueueDoor;
  readonly executor: RunExecutor;
  readonly signals: RunSignals;
  start(): void;
  /** Hands runs over, and ends the rest after `graceMs` milliseconds. Call it also after a failed start. */
  stop(graceMs: number): Promise<void>;
}

export function createRunWorker(options: RunWorkerOptions): RunWorker {
  const { platform, clock, ids, concurrency, onError, logger, httpAllow } = options;
  const { useServices, loadAgent, isAlone, kinds, labels } = options;
  const id = ids();
  const name = `${hostname()}-${process.pid}-${id}`;
  const signals = new RunSignals(clock);
  signals.look = (keys) => lookAt(platform, keys);
  const sender = new WebhookSender({ webhooks: platform.webhooks, clock, httpAllow, onError });
  const executor = new RunExecutor({
    platform,
    useServices,
    loadAgent,
    signals,
    onDeliveries: sender.wake,
    onQueued: () => queue.wake(),
    clock,
    onError,
    onEnd(end) {
      logger.info(endFields(end), "run");
      if (end.state === "handed_over") tellOthers();
    },
  });
  const queue = createRunTableQueue({
    claims: platform.claims,
    clock,
    worker: name,
    kinds,
    labels,
    concurrency,
    isAlone,
    onError,
  });
  const stopped = new AbortController();
  let stopUpkeep = async () => {};
  let notices: Notices | undefined;
  const onNotice = (text: string) => {
    if (text === queued) queue.wake();
    signals.receive(text);
    // The notice may tell of a request to cancel it, or of a message.
    executor.notice(text);
  };
  const tellOthers = () => notices?.send(queued);
  const isWorker = concurrency > 0;
  const self = {
    id,
    name,
    host: hostname(),
    pid: process.pid,
    version: packageVersion(),
    concurrency,
  };
  const watch = new WorkerWatch({
    workers: platform.workers,
    clock,
    self: { ...self, kinds, labels },
    isWorker,
    isAlone,
    isShared: options.database.openNotices !== undefined,
    running: () => queue.running,
    onTakeover({ id: lost, runs }) {
      logger.warn({ worker: lost, runs }, "worker died");
      if (runs === 0) return;
      queue.wake();
      tellOthers();
    },
    onError,
  });
  const isOurs = (run: Parameters<RunQueueDoor["wake"]>[0]) =>
    run === undefined || isInScope({ kinds, labels }, run);
  const door: RunQueueDoor = {
    get running() {
      return queue.running;
    },
    wake(run) {
      queue.wake();
      if (!isWorker || !queue.hasRoom || !isOurs(run)) tellOthers();
    },
    async add(create) {
      const run = isWorker ? await queue.add(create) : await create(undefined);
      if (run.epoch === 0) tellOthers();
      return run;
    },
  };
  return {
    name,
    queue: door,
    executor,
    signals,
    start() {
      const onChange = (isConnected: boolean) => {
        signals.setCarried(isConnected);
        watch.setConnected(isConnected);
      };
      const onLost = (err: unknown) => logger.warn({ err }, "no notices of other processes");
      notices = options.database.openNotices?.(channel, {
        clock,
        prepare: (session) => watch.hold(session),
        onNotice,
        onChange,
        onError: onLost,
      });
      signals.send = (runId) => notices?.send(runId);
      const { deleteThread } = options;
      const isStopping = () => stopped.signal.aborted;
      const onRuns = () => {
        queue.wake();
        tellOthers();
      };
      const isBusy = () => queue.running > 0;
      const ephemeral = {
        platform,
        clock,
        deleteThread,
        onError,
        isBusy,
        isStopped: isStopping,
      };
      const upkeeps = [
        startUpkeep({ clock, onError, jobs: platformJobs(platform) }),
        startUpkeep({ clock, onError, jobs: [() => options.retention(stopped.signal)] }),
        startUpkeep({
          clock,
          onError,
          everyMs: ephemeralEveryMs,
          jobs: [ephemeralThreadsJob(ephemeral)],
        }),
      ];
      if (options.database.kind === "pglite") {
        const vacuum = () => vacuumChanged(options.database.pool, stopped.signal);
        upkeeps.push(startUpkeep({ clock, onError, everyMs: vacuumEveryMs, jobs: [vacuum] }));
      }
      // A process without workers leaves it to those that have some.
      if (concurrency > 0) {
        const due = dueRunsJob({ platform, onRuns, onError, isStopped: isStopping });
        upkeeps.push(startUpkeep({ clock, onError, everyMs: dueEveryMs, jobs: [due] }));
      }
      stopUpkeep = async () => {
        await Promise.all(upkeeps.map((upkeep) => upkeep.stop()));
      };
      watch.start();
      if (!isWorker) return;
      queue.start(executor.execute);
      sender.start();
    },
    async stop(graceMs) {
      stopped.abort();
      await Promise.all([queue.stop({ graceMs }), sender.stop({ graceMs }), stopUpkeep()]);
      await watch.stop();
      await Promise.all([notices?.close(), platform.usage.flush()]);
    },
  };
}

async function lookAt({ tables }: Platform, keys: readonly string[]): Promise<Versions> {
  const threads = keys.flatMap((key) => {
    const place = threadOfSignal(key);
    return place === null ? [] : [{ key, ...place }];
  });
  const runs = keys.filter((key) => /^[\da-f-]{36}$/.test(key));
  const found = await readRunVersions(tables, { runs, threads });
  return new Map([
    ...runs.flatMap((key) => {
      const version = found.runs.get(key);
      return version === undefined ? [] : [[key, version] as const];
    }),
    ...threads.map(({ key }, at) => [key, found.threads[at] ?? ""] as const),
  ]);
}

function endFields({ run, state, code, ms }: RunEnd): object {
  return {
    run_id: run.id,
    tenant: run.tenantId,
    thread_id: run.threadId,
    state,
    ...(code !== null && { code }),
    attempt: run.attempts,
    ms: Math.round(ms),
  };
}
