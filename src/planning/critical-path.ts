import { dependencyOrder, type Linked, linkSubtasks } from "./plan-links.ts";

export interface CriticalPath {
  /** The sum of the durations along it: no schedule is shorter. */
  readonly length: number;
  /** In the order in which they are run; of several longest ones, the first by the order of the plan. */
  readonly ids: readonly string[];
}

/**
 * The longest way through a plan. Without durations every subtask takes 1; none takes less than 0. Dependencies that
 * are not in `subtasks` count as done. In linear time.
 *
 * @throws TypeError for subtasks in a cycle, or two of one id
 */
export function criticalPath(
  subtasks: Linked,
  durationOf: (id: string) => number = () => 1,
): CriticalPath {
  const links = linkSubtasks(subtasks);
  const order = dependencyOrder(links);
  const starts: number[] = [];
  const ends: number[] = [];
  let length = 0;
  // Summed as a clock does, so that the length is to the last bit when a run ends.
  for (const place of order) {
    let start = 0;
    for (const dependency of links.dependencies[place] ?? []) {
      start = Math.max(start, ends[dependency] ?? 0);
    }
    const end = start + durationOf(subtasks[place]?.id ?? "");
    starts[place] = start;
    ends[place] = end;
    length = Math.max(length, end);
  }
  /** The first of the dependents, without a pause between, that a longest way goes on with. */
  const goesOn: (number | undefined)[] = [];
  const isCritical: boolean[] = [];
  for (const place of order.toReversed()) {
    const next = links.dependents[place]?.find(
      (dependent) => isCritical[dependent] === true && starts[dependent] === ends[place],
    );
    goesOn[place] = next;
    isCritical[place] = next !== undefined || ends[place] === length;
  }
  const first = subtasks.findIndex(
    (_, place) => isCritical[place] === true && links.dependencies[place]?.length === 0,
  );
  const ids: string[] = [];
  for (let at = first < 0 ? undefined : first; at !== undefined; at = goesOn[at]) {
    ids.push(subtasks[at]?.id ?? "");
  }
  return { length, ids };
}

/**
 * By id, the longest way from the beginning of a subtask to the end of the plan, itself included. In linear time.
 *
 * @throws TypeError for subtasks in a cycle, or two of one id
 */
export function remainingPaths(
  subtasks: Linked,
  durationOf: (id: string) => number = () => 1,
): ReadonlyMap<string, number> {
  const links = linkSubtasks(subtasks);
  const paths: number[] = [];
  for (const place of dependencyOrder(links).toReversed()) {
    let after = 0;
    for (const dependent of links.dependents[place] ?? []) {
      after = Math.max(after, paths[dependent] ?? 0);
    }
    paths[place] = durationOf(subtasks[place]?.id ?? "") + after;
  }
  return new Map(subtasks.map(({ id }, place) => [id, paths[place] ?? 0]));
}
