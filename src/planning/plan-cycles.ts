import { strongComponents } from "../definition/strong-components.ts";
import { type Linked, linkSubtasks } from "./plan-links.ts";

/**
 * One cycle of each group of subtasks that all depend on each other, each id before the one that it depends on, the
 * first again at the end: the shortest through the first of the group in the plan. Subtasks that depend on themselves
 * alone are left out. In linear time.
 */
export function planCycles(subtasks: Linked): readonly (readonly string[])[] {
  const { dependencies } = linkSubtasks(subtasks);
  const places = [...subtasks.keys()];
  return strongComponents(places, dependencies, () => true)
    .filter(({ length }) => length > 1)
    .map((group) => shortestCycle(group.toSorted(ascending), dependencies))
    .toSorted(([a = 0], [b = 0]) => a - b)
    .map((cycle) => cycle.map((place) => subtasks[place]?.id ?? ""));
}

const ascending = (a: number, b: number) => a - b;

/** Breadth first from the first of the group until it is come to again. */
function shortestCycle(
  group: readonly number[],
  dependencies: readonly (readonly number[])[],
): number[] {
  const start = group[0] ?? 0;
  const within = new Set(group);
  const cameFrom = new Map<number, number>();
  // Grows while it is walked.
  const reached = [start];
  for (const place of reached) {
    for (const dependency of dependencies[place] ?? []) {
      if (dependency === start && place !== start) return wayTo(place, cameFrom, [start]);
      if (!within.has(dependency) || dependency === start || cameFrom.has(dependency)) continue;
      cameFrom.set(dependency, place);
      reached.push(dependency);
    }
  }
  return [];
}

function wayTo(last: number, cameFrom: ReadonlyMap<number, number>, end: number[]): number[] {
  const back = end;
  for (let at: number | undefined = last; at !== undefined; at = cameFrom.get(at)) back.push(at);
  return back.toReversed();
}
