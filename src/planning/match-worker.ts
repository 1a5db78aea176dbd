import type { Subtask } from "../state/task-plan.ts";

/** What is known of a worker when one is chosen. */
export interface WorkerProfile {
  readonly name: string;
  readonly description: string;
  readonly tools: readonly { readonly name: string; readonly description: string }[];
}

/**
 * The worker that fits a subtask which names none: the one whose name, description and tools share most with its
 * description and expected output, rare words counting more; where none shares anything, the first. The same
 * input always gives the same worker.
 *
 * @param workers at least one
 */
export function matchWorker(
  _subtask: Pick<Subtask, "description" | "expected_output">,
  _workers: readonly WorkerProfile[],
): string {
  throw new TypeError("stub");
}
