import type { ManualClock } from "./manual-clock.ts";

/**
 * Moves time on in steps while something runs that waits for it. With `dueOnly` time stands still unless a timer is due
 * in the next step: for runs that wait for a database too, which must not use up the time that a turn may take.
 */
export async function withTime<T>(
  clock: ManualClock,
  running: Promise<T>,
  stepMs: number,
  { dueOnly = false } = {},
): Promise<T> {
  const run = { isOver: false };
  const ended = running.finally(() => (run.isOver = true));
  while (!run.isOver) {
    for (let turns = 0; turns < 30 && !run.isOver; turns += 1) await new Promise(setImmediate);
    if (!run.isOver && (!dueOnly || clock.isDueWithin(stepMs))) clock.advance(stepMs);
  }
  return ended;
}
