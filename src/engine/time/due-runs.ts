import type { Platform } from "../../storage/platform/open-platform.ts";
import { type Due, findDue } from "../../storage/platform/time/due.ts";
import type { UpkeepJob } from "../upkeep.ts";
import { resumptionOf } from "./event-waits.ts";
import { planFiring } from "./schedule-times.ts";

export interface DueRunsOptions {
  readonly platform: Pick<Platform, "tables" | "firings" | "timers" | "usage">;
  /** Called when runs were queued. */
  readonly onRuns: () => void;
  /** Called with what the work on one row throws. The next look tries it again. */
  readonly onError: (error: unknown) => void;
  /** Whether to take up no further row. */
  readonly isStopped: () => boolean;
}

/** Milliseconds between two looks for what is due. */
export const dueEveryMs = 1_000;
const batch = 100;

/**
 * The job that makes the runs of due schedules, and resumes runs whose timer is due. Any number of processes may do so
 * at once: each row is taken by one, in the transaction that makes its run.
 */
export function dueRunsJob(options: DueRunsOptions): UpkeepJob {
  const { platform, onRuns, onError, isStopped } = options;
  return async () => {
    const due = await findDue(platform.tables, { limit: batch });
    let made = 0;
    for (const one of due) {
      if (isStopped()) break;
      try {
        made += await fire(options, one);
      } catch (error) {
        onError(error);
      }
    }
    if (made > 0) onRuns();
  };
}

/** Returns how many runs were queued. */
async function fire({ platform }: DueRunsOptions, { kind, tenantId, id }: Due): Promise<number> {
  const { firings, timers, usage, tables } = platform;
  if (kind === "timer") return Number(await timers.fire({ tenantId, id }, resumptionOf));
  const left = await usage.remaining(tenantId);
  const spent = (["requests", "tokens", "cost_usd"] as const).find((quota) => left[quota] === 0);
  const problem = spent && `The quota of ${spent} of this day (UTC) is used up.`;
  const fired = await firings.fire({ tenantId, id }, (schedule) => ({
    ...planFiring(schedule, tables.clock.now()),
    ...(problem !== undefined && { problem }),
  }));
  const runs = fired?.runIds.length ?? 0;
  if (runs > 0) usage.count(tenantId, { runs });
  return runs;
}
