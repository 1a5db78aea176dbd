import type { ManualClock } from "./manual-clock.ts";

/** Lets a run go on until nothing happens any more but timers, then moves the clock on, until the run ends. */
export async function withTime<T>(
  clock: ManualClock,
  running: Promise<T>,
  stepMs: number,
): Promise<T> {
  const run = { isOver: false };
  const ended = running.finally(() => (run.isOver = true));
  while (!run.isOver) {
    for (let turns = 0; turns < 30 && !run.isOver; turns += 1) await new Promise(setImmediate);
    if (!run.isOver) clock.advance(stepMs);
  }
  return ended;
}
