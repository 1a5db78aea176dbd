import { dependencyOrder, type Linked, linkSubtasks } from "./plan-links.ts";

/**
 * Ids by topological level, in the order of the plan: what depends on nothing first, then what depends on that alone,
 * and so on. For display; a subtask is run as soon as its own dependencies are done. Dependencies that are not in
 * `subtasks` count as done. In linear time.
 *
 * @throws TypeError for subtasks in a cycle, or two of one id
 */
export function planLevels(subtasks: Linked): readonly (readonly string[])[] {
  const links = linkSubtasks(subtasks);
  const levelOf: number[] = [];
  for (const place of dependencyOrder(links)) {
    let level = 0;
    for (const dependency of links.dependencies[place] ?? []) {
      level = Math.max(level, (levelOf[dependency] ?? 0) + 1);
    }
    levelOf[place] = level;
  }
  const levels: string[][] = [];
  for (const [place, { id }] of subtasks.entries()) {
    (levels[levelOf[place] ?? 0] ??= []).push(id);
  }
  return levels;
}
