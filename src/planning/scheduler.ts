import type { Subtask } from "../state/task-plan.ts";

export interface SchedulerOptions {
  /** At most so many at once; `Infinity` where all may. */
  readonly maxParallel: number;
  /** What is known to be settled from before: not begun again. */
  readonly settled?: ReadonlyMap<string, "done" | "failed" | "skipped">;
  /** Expected duration, in any unit, by which the longest remaining way is measured. Default: 1 each. */
  readonly durationOf?: (id: string) => number;
}

/** A subtask that cannot be begun any more, and the failed one that it depends on, directly or not. */
export interface Skipped {
  readonly id: string;
  readonly because: string;
}

/**
 * Which subtasks are to begin, as those before them end: the state of a dataflow, without time and without effects. A
 * subtask is ready the moment its own dependencies are done. Among ready ones, that with the longest remaining way
 * goes first (list scheduling by critical path, Graham 1969; Hu 1961), and the order of the plan decides between equals.
 * Each event costs the logarithm of the number of ready subtasks and the links that it follows.
 */
export class Scheduler {
  constructor(
    _subtasks: readonly Pick<Subtask, "id" | "dependencies">[],
    _options: SchedulerOptions,
  ) {
    throw new TypeError("stub");
  }

  /** What begins now: as many ready subtasks as there is room for. They count as running from here on. */
  begin(): readonly string[] {
    throw new TypeError("stub");
  }

  /** A running subtask is done. */
  done(_id: string): void {
    throw new TypeError("stub");
  }

  /** A running subtask has failed for good. @returns those that are skipped for it, in the order of the plan */
  failed(_id: string): readonly Skipped[] {
    throw new TypeError("stub");
  }

  /** A running subtask waits for somebody, and leaves its place to others. It never ends in this run. */
  waits(_id: string): void {
    throw new TypeError("stub");
  }

  /** Running, and not waiting for anybody. */
  get running(): number {
    throw new TypeError("stub");
  }

  /** Whether nothing runs and nothing can begin any more. */
  get isOver(): boolean {
    throw new TypeError("stub");
  }
}
