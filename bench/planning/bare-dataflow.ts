import { Scheduler } from "../../src/planning/scheduler.ts";
import type { Subtask } from "../../src/state/plan.ts";

/** Milliseconds of a plan as promises alone: no graph, nothing kept, nothing told. */
export async function bareDataflow(
  subtasks: readonly Subtask[],
  of: { readonly maxParallel: number; readonly work: (subtask: Subtask) => Promise<unknown> },
): Promise<number> {
  const { maxParallel, work } = of;
  const scheduler = new Scheduler(subtasks, { maxParallel });
  const byId = new Map(subtasks.map((subtask) => [subtask.id, subtask]));
  const start = performance.now();
  await new Promise<void>((resolve, reject) => {
    const beginMore = (): void => {
      if (scheduler.isOver) resolve();
      for (const id of scheduler.start()) {
        work(byId.get(id) as Subtask).then(() => {
          scheduler.complete(id);
          beginMore();
        }, reject);
      }
    };
    beginMore();
  });
  return performance.now() - start;
}
