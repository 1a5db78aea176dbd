import type { RunProgress } from "../../experiment/run-progress.ts";

/** What is known of how long a run will take. */
export interface RunPace {
  /** Runs of one model are taken to have one pace. */
  readonly model_name: string;
  readonly progress: RunProgress;
}

/**
 * Milliseconds until all runs are done, `parallel` of them at a time, in their order. Runs that have no pace yet get that
 * of the others of their model, else of all. Null before a cycle has ended anywhere, and when nothing is left.
 */
export function timeLeftOfAll(runs: readonly RunPace[], parallel: number): number | null {
  const of = (status: RunProgress["status"]) =>
    runs.filter(({ progress }) => progress.status === status);
  const open = [...of("running"), ...of("waiting")];
  if (open.length === 0) return null;
  const lanes: number[] = Array.from({ length: parallel }, () => 0);
  for (const run of open) {
    const left = timeLeftOf(run, runs);
    if (left === null) return null;
    const earliest = lanes.indexOf(Math.min(...lanes));
    lanes[earliest] = (lanes[earliest] ?? 0) + left;
  }
  return Math.max(...lanes);
}

function timeLeftOf({ model_name, progress }: RunPace, runs: readonly RunPace[]): number | null {
  if (progress.remaining_ms !== null) return progress.remaining_ms;
  const pace = paceOf(runs.filter((run) => run.model_name === model_name)) ?? paceOf(runs);
  return pace === null ? null : pace * (progress.cycle_count - progress.cycles_done);
}

/** Milliseconds of a cycle. */
function paceOf(runs: readonly RunPace[]): number | null {
  let cycles = 0;
  let elapsed = 0;
  for (const { progress } of runs) {
    const ended = progress.cycles_done - progress.cycles_before;
    if (ended > 0) elapsed += progress.elapsed_ms;
    cycles += ended;
  }
  return cycles === 0 ? null : elapsed / cycles;
}
