import { readFileSync } from "node:fs";
import { taskGraph, type TaskGraph } from "./task-graph.ts";

/** A published plan with the makespans that came with it. */
export interface PublishedGraph extends TaskGraph {
  /** As dataflow, with as many workers as it takes. */
  readonly optimum: number;
  readonly sequential: number;
  /** Level by level. */
  readonly waves: number;
}

interface Line extends Pick<PublishedGraph, "optimum" | "sequential" | "waves"> {
  readonly id: string;
  readonly tasks: readonly {
    readonly id: number;
    readonly deps: readonly number[];
    readonly duration: number;
  }[];
}

/**
 * Two of the graphs list their first tasks twice; each is read once, as their figures have it.
 *
 * @param file lines of JSON, a graph each
 */
export function readPublishedGraphs(file: string): readonly PublishedGraph[] {
  const lines = readFileSync(file, "utf8").trim().split("\n");
  return lines.map((line) => {
    const { id, tasks, optimum, sequential, waves } = JSON.parse(line) as Line;
    const once = tasks.filter((task, at) => tasks.findIndex((one) => one.id === task.id) === at);
    const named = once.map((task) => ({
      id: String(task.id),
      after: task.deps.map(String),
      duration: task.duration,
    }));
    return { ...taskGraph(id, named), optimum, sequential, waves };
  });
}
