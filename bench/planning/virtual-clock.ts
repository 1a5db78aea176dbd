import TinyQueue from "tinyqueue";
import { Scheduler } from "../../src/planning/scheduler.ts";
import type { TaskGraph } from "./task-graph.ts";

/** When the last subtask ends where the scheduler does not know how long anything takes, as at run time. */
export function unknownDurations({ subtasks, durationOf }: TaskGraph, maxParallel: number): number {
  const scheduler = new Scheduler(subtasks, { maxParallel });
  const running = new TinyQueue<{ readonly id: string; readonly end: number }>(
    [],
    (a, b) => a.end - b.end,
  );
  let now = 0;
  while (!scheduler.isOver) {
    for (const id of scheduler.start()) running.push({ id, end: now + durationOf(id) });
    now = running.peek()?.end ?? now;
    for (let next = running.peek(); next?.end === now; next = running.peek()) {
      scheduler.complete(next.id);
      running.pop();
    }
  }
  return now;
}
