/** What a worker of code is given. */
export interface WorkerTask {
  readonly id: string;
  readonly description: string;
  readonly expected_output: string;
  /** Ids of the subtasks that it depends on, in the order in which it names them. */
  readonly dependencies: readonly string[];
  /** Their results by id. In the order of an object's keys: ids that are whole numbers come first, by size. */
  readonly results: Readonly<Record<string, unknown>>;
  /** From 1. */
  readonly attempt: number;
  /** Aborts when the attempt's time is over, or the run is cancelled; what is given after that counts for nothing. */
  readonly signal: AbortSignal;
}

/**
 * A function that does subtasks beside the agents of a planner. It gives plain JSON. What it throws fails the attempt:
 * an error with `status` 408, 429 or 5xx, and those of a broken connection, are worth another one.
 */
export interface CodeWorker {
  readonly name: string;
  /** What it is good at: the planner reads it, and subtasks that name nobody are matched with it. */
  readonly description: string;
  run(task: WorkerTask): unknown;
}

/** All of workers that is data: descriptions by name. */
export function describedWorkers(workers: readonly CodeWorker[]): Readonly<Record<string, string>> {
  return Object.fromEntries(workers.map(({ name, description }) => [name, description]));
}
