import { planLevels } from "../../src/planning/plan-graph.ts";
import type { Subtask } from "../../src/state/plan.ts";

/** A plan, and how long each of its subtasks takes, in whole units. */
export interface TaskGraph {
  readonly name: string;
  readonly subtasks: readonly Subtask[];
  readonly durationOf: (id: string) => number;
}

/** What a subtask that has to know its duration is told: `Work for 3.` */
export function taskGraph(
  name: string,
  tasks: readonly { readonly id: string; readonly after: readonly string[]; duration: number }[],
): TaskGraph {
  const durations = new Map(tasks.map(({ id, duration }) => [id, duration]));
  return {
    name,
    subtasks: tasks.map(({ id, after, duration }) => ({
      id,
      description: `Work for ${duration}.`,
      dependencies: after,
    })),
    durationOf: (id) => durations.get(id) ?? 0,
  };
}

/** The units that a subtask of {@link taskGraph} works for. */
export function unitsOf(description: string): number {
  return Number(/^Work for (\d+)\.$/.exec(description)?.[1] ?? 0);
}

/** The same subtasks, each after all of the level before its own. */
export function levelByLevel(graph: TaskGraph): TaskGraph {
  const levels = planLevels(graph.subtasks);
  const levelOf = new Map(levels.flatMap((ids, level) => ids.map((id) => [id, level] as const)));
  const subtasks = graph.subtasks.map((subtask) => ({
    ...subtask,
    dependencies: levels[(levelOf.get(subtask.id) ?? 0) - 1] ?? [],
  }));
  return { ...graph, subtasks };
}

export function totalOf({ subtasks, durationOf }: TaskGraph): number {
  return subtasks.reduce((sum, { id }) => sum + durationOf(id), 0);
}
