import { hostname } from "node:os";
import type { Clock, IdSource } from "../clock.ts";
import type { Database } from "../storage/database.ts";
import type { Platform } from "../storage/platform/open-platform.ts";
import { readRunVersions } from "../storage/platform/runs/run-versions.ts";
import type { Run } from "../storage/platform/runs/runs.ts";
import type { Notices } from "../storage/postgres-notices.ts";
import { createEmbeddedQueue } from "./embedded-queue.ts";
import { type RunEnd, RunExecutor, type RunExecutorOptions } from "./run-executor.ts";
import type { RunQueue } from "./run-queue.ts";
import { RunSignals, threadOfSignal, type Versions } from "./run-signals.ts";
import {
  type EphemeralThreadsOptions,
  ephemeralThreadsJob,
  platformJobs,
  startUpkeep,
  type UpkeepJob,
} from "./upkeep.ts";
import { WebhookSender, type WebhookSenderOptions } from "./webhook-sender.ts";

export interface RunWorkerOptions extends Pick<
  RunExecutorOptions,
  "useServices" | "loadAgent" | "onError"
> {
  readonly platform: Platform;
  readonly deleteThread: EphemeralThreadsOptions["deleteThread"];
  /** Archives and deletes what has reached its age, until the signal aborts. */
  readonly retention: (signal: AbortSignal) => ReturnType<UpkeepJob>;
  /** Tells other processes of the same database what changes here. */
  readonly database: Pick<Database, "openNotices">;
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
/** The notice of a process without workers that a run was queued. */
const queued = "queued";

/** Executes runs, sends webhooks and keeps the tables in order, while the process answers requests. */
export interface RunWorker {
  readonly queue: Pick<RunQueue<Run>, "add" | "wake" | "running">;
  readonly executor: RunExecutor;
  readonly signals: RunSignals;
  start(): void;
  /** Hands runs over, and ends the rest after `graceMs` milliseconds. Call it also after a failed start. */
  stop(graceMs: number): Promise<void>;
}

export function createRunWorker(options: RunWorkerOptions): RunWorker {
  const { platform, clock, ids, concurrency, onError, logger, httpAllow } = options;
  const { useServices, loadAgent, isAlone } = options;
  const signals = new RunSignals(clock);
  signals.look = (keys) => lookAt(platform, keys);
  const sender = new WebhookSender({ webhooks: platform.webhooks, clock, httpAllow, onError });
  const executor = new RunExecutor({
    platform,
    useServices,
    loadAgent,
    signals,
    onDeliveries: sender.wake,
    clock,
    onError,
    onEnd: (end) => logger.info(endFields(end), "run"),
  });
  const queue = createEmbeddedQueue({
    claims: platform.claims,
    clock,
    worker: `${hostname()}-${process.pid}-${ids()}`,
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
    // The notice may tell of a request to cancel it.
    executor.cancel(text);
  };
  const tellOthers = () => notices?.send(queued);
  const idle: RunWorker["queue"] = {
    running: 0,
    wake: tellOthers,
    async add(create) {
      const run = await create(undefined);
      tellOthers();
      return run;
    },
  };
  return {
    queue: concurrency === 0 ? idle : queue,
    executor,
    signals,
    start() {
      const onChange = (isConnected: boolean) => signals.setCarried(isConnected);
      const onLost = (err: unknown) => logger.warn({ err }, "no notices of other processes");
      notices = options.database.openNotices?.(channel, {
        clock,
        onNotice,
        onChange,
        onError: onLost,
      });
      signals.send = (runId) => notices?.send(runId);
      const { deleteThread } = options;
      const isBusy = () => queue.running > 0;
      const ephemeral = {
        platform,
        clock,
        deleteThread,
        onError,
        isBusy,
        isStopped: () => stopped.signal.aborted,
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
      stopUpkeep = async () => {
        await Promise.all(upkeeps.map((upkeep) => upkeep.stop()));
      };
      if (concurrency === 0) return;
      queue.start(executor.execute);
      sender.start();
    },
    async stop(graceMs) {
      stopped.abort();
      await Promise.all([queue.stop({ graceMs }), sender.stop({ graceMs }), stopUpkeep()]);
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
