import type { Subtask } from "../state/task-plan.ts";

/**
 * Ids by topological level, in the order of the plan: what depends on nothing first, then what depends on that alone,
 * and so on. For display; a subtask is run as soon as its own dependencies are done. Dependencies that are not in
 * `subtasks` count as done. In linear time.
 */
export function planLevels(
  _subtasks: readonly Pick<Subtask, "id" | "dependencies">[],
): readonly (readonly string[])[] {
  throw new TypeError("stub");
}
