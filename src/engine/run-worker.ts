import { hostname } from "node:os";
import type { Clock, IdSource } from "../clock.ts";
import type { Platform } from "../storage/platform/open-platform.ts";
import type { Run } from "../storage/platform/runs/runs.ts";
import { createEmbeddedQueue } from "./embedded-queue.ts";
import { type RunEnd, RunExecutor, type RunExecutorOptions } from "./run-executor.ts";
import type { RunQueue } from "./run-queue.ts";
import { RunSignals } from "./run-signals.ts";
import { platformJobs, startUpkeep } from "./upkeep.ts";
import { WebhookSender, type WebhookSenderOptions } from "./webhook-sender.ts";

export interface RunWorkerOptions extends Pick<
  RunExecutorOptions,
  "useServices" | "loadAgent" | "onError"
> {
  readonly platform: Platform;
  readonly clock: Clock;
  readonly ids: IdSource;
  /** Runs that execute at the same time. 0: other processes execute runs and send webhooks. */
  readonly concurrency: number;
  /** Private hosts that webhooks may call. */
  readonly httpAllow: WebhookSenderOptions["httpAllow"];
  readonly logger: { info(fields: object, message: string): void };
}

/** Executes runs, sends webhooks and keeps the tables in order, while the process answers requests. */
export interface RunWorker {
  readonly queue: RunQueue<Run>;
  readonly executor: RunExecutor;
  readonly signals: RunSignals;
  start(): void;
  /** Hands runs over, and ends the rest after `graceMs` milliseconds. Call it also after a failed start. */
  stop(graceMs: number): Promise<void>;
}

export function createRunWorker(options: RunWorkerOptions): RunWorker {
  const { platform, clock, ids, concurrency, onError, logger, httpAllow } = options;
  const { useServices, loadAgent } = options;
  const signals = new RunSignals(clock);
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
    onError,
  });
  let stopUpkeep = async () => {};
  return {
    queue,
    executor,
    signals,
    start() {
      const upkeep = startUpkeep({ clock, onError, jobs: platformJobs(platform) });
      stopUpkeep = () => upkeep.stop();
      if (concurrency === 0) return;
      queue.start(executor.execute);
      sender.start();
    },
    async stop(graceMs) {
      await Promise.all([queue.stop({ graceMs }), sender.stop({ graceMs }), stopUpkeep()]);
    },
  };
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
