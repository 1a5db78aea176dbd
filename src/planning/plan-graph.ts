import { stronglyConnectedComponents } from "../definition/workflow/graph.ts";
import type { Subtask } from "../state/plan.ts";

export type Linked = readonly Pick<Subtask, "id" | "dependencies">[];

/** Dependencies between subtasks by index in the plan. Dependencies outside the plan are left out. */
export interface PlanLinks {
  /** Index by id; of duplicates the first. */
  readonly indexById: ReadonlyMap<string, number>;
  /** Indexes of the dependencies of each subtask. */
  readonly dependencies: readonly (readonly number[])[];
  /** Indexes of the dependents of each subtask, ascending. */
  readonly dependents: readonly (readonly number[])[];
}

/** Links subtasks by index. Linear time. */
export function linkSubtasks(subtasks: Linked): PlanLinks {
  const indexById = new Map<string, number>();
  for (const [index, { id }] of subtasks.entries()) {
    if (!indexById.has(id)) indexById.set(id, index);
  }
  const dependents: number[][] = subtasks.map(() => []);
  const dependencies = subtasks.map((subtask, index) => {
    const indexes: number[] = [];
    for (const id of subtask.dependencies) {
      const dependency = indexById.get(id);
      if (dependency === undefined) continue;
      indexes.push(dependency);
      dependents[dependency]?.push(index);
    }
    return indexes;
  });
  return { indexById, dependencies, dependents };
}

/**
 * Returns the indexes in topological order (Kahn 1962). Linear time.
 *
 * @throws TypeError for what `checkPlan` refuses: a cycle, duplicate ids
 */
export function dependencyOrder({ indexById, dependencies, dependents }: PlanLinks): number[] {
  const missing = dependencies.map(({ length }) => length);
  const order = [...missing.keys()].filter((index) => missing[index] === 0);
  // The list grows while it is iterated.
  for (const index of order) {
    for (const dependent of dependents[index] ?? []) {
      const left = (missing[dependent] ?? 0) - 1;
      missing[dependent] = left;
      if (left === 0) order.push(dependent);
    }
  }
  if (order.length < dependencies.length) throw new TypeError("The subtasks have a cycle");
  if (indexById.size < dependencies.length) throw new TypeError("Two subtasks have one id");
  return order;
}

export interface CriticalPath {
  /** The sum of the durations along it: a lower bound for any schedule. */
  readonly length: number;
  /** In execution order; of several longest paths, the first by the order of the plan. */
  readonly ids: readonly string[];
}

/**
 * Returns the longest path through a plan. Without durations every subtask takes 1; negative durations count as 0.
 * Dependencies that are not in `subtasks` count as done. Linear time.
 *
 * @throws TypeError for a cycle or duplicate ids
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
  // Summed in time order, so that the length equals the end time of a run exactly.
  for (const index of order) {
    let start = 0;
    for (const dependency of links.dependencies[index] ?? []) {
      start = Math.max(start, ends[dependency] ?? 0);
    }
    const end = start + durationOf(subtasks[index]?.id ?? "");
    starts[index] = start;
    ends[index] = end;
    length = Math.max(length, end);
  }
  /** The first dependent, in plan order, that continues a longest path. */
  const successor: (number | undefined)[] = [];
  const isCritical: boolean[] = [];
  for (const index of order.toReversed()) {
    const next = links.dependents[index]?.find(
      (dependent) => isCritical[dependent] === true && starts[dependent] === ends[index],
    );
    successor[index] = next;
    isCritical[index] = next !== undefined || ends[index] === length;
  }
  const first = subtasks.findIndex(
    (_, index) => isCritical[index] === true && links.dependencies[index]?.length === 0,
  );
  const ids: string[] = [];
  for (let at = first < 0 ? undefined : first; at !== undefined; at = successor[at]) {
    ids.push(subtasks[at]?.id ?? "");
  }
  return { length, ids };
}

/**
 * Returns, by id, the longest path from the start of a subtask to the end of the plan, itself included. Linear time.
 *
 * @throws TypeError for a cycle or duplicate ids
 */
export function remainingPaths(
  subtasks: Linked,
  durationOf: (id: string) => number = () => 1,
): ReadonlyMap<string, number> {
  const links = linkSubtasks(subtasks);
  const paths: number[] = [];
  for (const index of dependencyOrder(links).toReversed()) {
    let after = 0;
    for (const dependent of links.dependents[index] ?? []) {
      after = Math.max(after, paths[dependent] ?? 0);
    }
    paths[index] = durationOf(subtasks[index]?.id ?? "") + after;
  }
  return new Map(subtasks.map(({ id }, index) => [id, paths[index] ?? 0]));
}

/**
 * Returns ids by topological level, in the order of the plan: first the subtasks without dependencies, then those that
 * depend only on these, and so on. For display; a subtask runs as soon as its own dependencies are done. Dependencies
 * that are not in `subtasks` count as done. Linear time.
 *
 * @throws TypeError for a cycle or duplicate ids
 */
export function planLevels(subtasks: Linked): readonly (readonly string[])[] {
  const links = linkSubtasks(subtasks);
  const levelOf: number[] = [];
  for (const index of dependencyOrder(links)) {
    let level = 0;
    for (const dependency of links.dependencies[index] ?? []) {
      level = Math.max(level, (levelOf[dependency] ?? 0) + 1);
    }
    levelOf[index] = level;
  }
  const levels: string[][] = [];
  for (const [index, { id }] of subtasks.entries()) {
    (levels[levelOf[index] ?? 0] ??= []).push(id);
  }
  return levels;
}

/**
 * Returns one cycle of each strongly connected group of subtasks, each id before its dependency, with the first
 * repeated at the end. It is the shortest cycle through the group's first subtask in the plan. Subtasks that depend
 * only on themselves are left out. Linear time.
 */
export function planCycles(subtasks: Linked): readonly (readonly string[])[] {
  const { dependencies } = linkSubtasks(subtasks);
  const indexes = [...subtasks.keys()];
  return stronglyConnectedComponents(indexes, dependencies, () => true)
    .filter(({ length }) => length > 1)
    .map((group) => shortestCycle(group.toSorted(ascending), dependencies))
    .toSorted(([a = 0], [b = 0]) => a - b)
    .map((cycle) => cycle.map((index) => subtasks[index]?.id ?? ""));
}

const ascending = (a: number, b: number) => a - b;

/** Searches breadth-first from the group's first subtask until it is reached again. */
function shortestCycle(
  group: readonly number[],
  dependencies: readonly (readonly number[])[],
): number[] {
  const start = group[0] ?? 0;
  const within = new Set(group);
  const cameFrom = new Map<number, number>();
  // The list grows while it is iterated.
  const reached = [start];
  for (const index of reached) {
    for (const dependency of dependencies[index] ?? []) {
      if (dependency === start && index !== start) return pathTo(index, cameFrom, [start]);
      if (!within.has(dependency) || dependency === start || cameFrom.has(dependency)) continue;
      cameFrom.set(dependency, index);
      reached.push(dependency);
    }
  }
  return [];
}

function pathTo(last: number, cameFrom: ReadonlyMap<number, number>, end: number[]): number[] {
  const back = end;
  for (let at: number | undefined = last; at !== undefined; at = cameFrom.get(at)) back.push(at);
  return back.toReversed();
}
