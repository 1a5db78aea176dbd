import { sleep } from "../async.ts";
import type { Clock } from "../clock.ts";
import type { Platform } from "../storage/platform/open-platform.ts";
import type { EphemeralThread } from "../storage/platform/runs/instances.ts";

/** Work that is due again and again. After an interruption the next time does the rest. */
export type UpkeepJob = () => Promise<unknown>;

export interface UpkeepOptions {
  /** Run one after the other, in this order. */
  readonly jobs: readonly UpkeepJob[];
  readonly clock: Clock;
  /** Milliseconds from the end of the last job to the next round. Default 3,600,000: an hour. */
  readonly everyMs?: number;
  /** Called with what a job throws. The other jobs are run, and this one again in the next round. */
  readonly onError: (error: unknown) => void;
}

/** Upkeep under way. */
export interface Upkeep {
  /** Begins no further job, and waits for the one that runs. */
  stop(): Promise<void>;
}

const hourMs = 3_600_000;
const deliveryDays = 30;

/**
 * The jobs of the platform's tables: the partitions of the next days are made, and idempotency keys older than 24 hours
 * deliveries of webhooks that ended more than 30 days ago, and events of threads after a week are removed.
 */
export function platformJobs(
  platform: Pick<Platform, "partitions" | "idempotency" | "webhooks" | "threadEvents">,
): readonly UpkeepJob[] {
  const { partitions, idempotency, webhooks, threadEvents } = platform;
  return [
    () => partitions.ensure(),
    () => idempotency.sweep(),
    () => webhooks.removeEnded({ olderThanDays: deliveryDays }),
    () => threadEvents.sweep(),
  ];
}

/** Milliseconds for which readers of a stateless run find its thread after the end. */
const ephemeralMs = 60_000;
const ephemeralBatch = 100;
/** Milliseconds between two deletions while runs execute: each costs about as much as a short run. */
const busyPauseMs = 50;

export interface EphemeralThreadsOptions {
  readonly platform: Pick<Platform, "instances">;
  readonly clock: Clock;
  /** Deletes a thread with all that belongs to it. One that is not there is fine. */
  readonly deleteThread: (thread: Pick<EphemeralThread, "tenantId" | "threadId">) => Promise<void>;
  /** Whether runs execute in this process, before which deletions stand back. */
  readonly isBusy: () => boolean;
  /** Whether to begin no further deletion. */
  readonly isStopped: () => boolean;
  /** Called with what a deletion throws. The next round tries it again. */
  readonly onError: (error: unknown) => void;
}

/** The job that deletes the threads of stateless runs that ended more than a minute ago. */
export function ephemeralThreadsJob(options: EphemeralThreadsOptions): UpkeepJob {
  const { platform, clock, deleteThread, isBusy, isStopped, onError } = options;
  return async () => {
    const before = new Date(clock.now().getTime() - ephemeralMs);
    let last: EphemeralThread | undefined;
    do {
      const batch = await platform.instances.endedEphemeral({
        before,
        limit: ephemeralBatch,
        ...(last && { after: last }),
      });
      for (const thread of batch) {
        if (isBusy()) await sleep(busyPauseMs, { clock });
        if (isStopped()) return;
        await deleteThread(thread).catch(onError);
      }
      last = batch.at(-1);
    } while (last !== undefined);
  };
}

/** Runs the jobs now, and then again and again until it is stopped. Processes on one database may do so at once. */
export function startUpkeep({ jobs, clock, everyMs = hourMs, onError }: UpkeepOptions): Upkeep {
  let isStopped = false;
  let cancel = () => {};
  let round: Promise<void> = Promise.resolve();
  const run = async () => {
    for (const job of jobs) {
      if (isStopped) return;
      try {
        await job();
      } catch (error) {
        onError(error);
      }
    }
    if (!isStopped) cancel = clock.after(everyMs, start, { keepsAlive: false });
  };
  const start = () => {
    round = run();
  };
  start();
  return {
    async stop() {
      isStopped = true;
      cancel();
      await round;
    },
  };
}
