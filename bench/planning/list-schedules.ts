import {
  criticalPath,
  linkSubtasks,
  planLevels,
  remainingPaths,
} from "../../src/planning/plan-graph.ts";
import { randomNumbers } from "../helpers/random-numbers.ts";
import { totalOf, type TaskGraph } from "./task-graph.ts";

/** Of ready subtasks, that with the largest goes first; the order of the plan decides between equals. */
type Priority = (place: number) => number;

/** When the last subtask ends where no worker is ever idle while one is ready (Graham 1969). */
function listSchedule(graph: TaskGraph, workers: number, priority: Priority): number {
  const { subtasks, durationOf } = graph;
  const links = linkSubtasks(subtasks);
  const missing = links.dependencies.map(({ length }) => length);
  const ready = [...missing.keys()].filter((place) => missing[place] === 0);
  const running: { readonly place: number; readonly end: number }[] = [];
  let now = 0;
  while (ready.length > 0 || running.length > 0) {
    ready.sort((a, b) => priority(b) - priority(a) || a - b);
    for (const place of ready.splice(0, workers - running.length)) {
      running.push({ place, end: now + durationOf(subtasks[place]?.id ?? "") });
    }
    now = Math.min(...running.map(({ end }) => end));
    const ended = running.filter(({ end }) => end === now);
    running.splice(0, running.length, ...running.filter(({ end }) => end > now));
    for (const { place } of ended) {
      for (const dependent of links.dependents[place] ?? []) {
        missing[dependent] = (missing[dependent] ?? 0) - 1;
        if (missing[dependent] === 0) ready.push(dependent);
      }
    }
  }
  return now;
}

/** The shortest of a hundred and four list schedules that know how long everything takes. */
export function bestListSchedule(graph: TaskGraph, workers: number): number {
  const { subtasks, durationOf } = graph;
  const paths = remainingPaths(subtasks, durationOf);
  const { dependents } = linkSubtasks(subtasks);
  const idAt = (place: number) => subtasks[place]?.id ?? "";
  const random = randomNumbers(subtasks.length);
  const anyOrder = Array.from({ length: 100 }, (): Priority => {
    const drawn = subtasks.map(() => random());
    return (place) => drawn[place] ?? 0;
  });
  const priorities: readonly Priority[] = [
    (place) => paths.get(idAt(place)) ?? 0,
    (place) => durationOf(idAt(place)),
    (place) => dependents[place]?.length ?? 0,
    () => 0,
    ...anyOrder,
  ];
  return Math.min(...priorities.map((priority) => listSchedule(graph, workers, priority)));
}

/** In the order in which the plan was written. */
export function firstComeFirstServed(graph: TaskGraph, workers: number): number {
  return listSchedule(graph, workers, () => 0);
}

/** No schedule is shorter. */
export function lowerBound(graph: TaskGraph, workers: number): number {
  const { length } = criticalPath(graph.subtasks, graph.durationOf);
  return Math.max(length, Math.ceil(totalOf(graph) / workers));
}

/** Each level when all of the one before have ended; within a level, what takes longest first. */
export function levelSchedule({ name, subtasks, durationOf }: TaskGraph, workers: number): number {
  const levels = planLevels(subtasks).map((ids) =>
    ids.map((id) => ({ id, description: "", dependencies: [] })),
  );
  const spans = levels.map((level) => {
    const longest: Priority = (place) => durationOf(level[place]?.id ?? "");
    return listSchedule({ name, subtasks: level, durationOf }, workers, longest);
  });
  return spans.reduce((sum, span) => sum + span, 0);
}
