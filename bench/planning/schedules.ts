import { schedulePlan } from "../../src/planning/schedule-plan.ts";
import { median } from "../helpers/median.ts";
import { printTable } from "../helpers/table.ts";
import {
  bestListSchedule,
  firstComeFirstServed,
  levelSchedule,
  lowerBound,
} from "./list-schedules.ts";
import type { PublishedGraph } from "./published-graphs.ts";
import { totalOf, type TaskGraph } from "./task-graph.ts";
import { unknownDurations } from "./virtual-clock.ts";

const workers = 4;

/** Plans on a clock of their own: what the order alone gives. */
export function printSchedules(of: {
  readonly random: readonly TaskGraph[];
  readonly published: readonly PublishedGraph[];
}): void {
  console.log("\n## Schedules on a clock of their own");
  for (const [title, graphs] of [
    ["Random graphs", of.random],
    ["Published graphs", of.published],
  ] as const) {
    if (graphs.length === 0) continue;
    unlimited(title, graphs);
    limited(title, graphs);
  }
  asPublished(of.published);
}

/** The longest way by its definition, from the ends backwards, with nothing of the planner's. */
function longestWay({ subtasks, durationOf }: TaskGraph): number {
  const byId = new Map(subtasks.map((subtask) => [subtask.id, subtask]));
  const known = new Map<string, number>();
  const wayTo = (id: string): number => {
    const ways = byId.get(id)?.dependencies.map((one) => known.get(one) ?? wayTo(one)) ?? [];
    const way = Math.max(0, ...ways) + durationOf(id);
    known.set(id, way);
    return way;
  };
  return Math.max(...subtasks.map(({ id }) => wayTo(id)));
}

function unlimited(title: string, graphs: readonly TaskGraph[]): void {
  console.log(`\n${title} (${graphs.length}), as many workers as it takes, over the optimum:\n`);
  const row = (name: string, spanOf: (graph: TaskGraph) => number) => {
    const ratios = graphs.map((graph) => spanOf(graph) / longestWay(graph));
    const exact = ratios.filter((ratio) => ratio === 1).length;
    return [name, `${exact} of ${graphs.length}`, ...spread(ratios)];
  };
  printTable(
    ["", "exactly", "median", "worst"],
    [
      row("schedulePlan", ({ subtasks, durationOf }) => {
        const options = { maxParallel: Infinity, durationOf };
        return schedulePlan({ subtasks }, options).makespan;
      }),
      row("level by level", (graph) => levelSchedule(graph, Infinity)),
      row("one after the other", totalOf),
    ],
  );
}

function limited(title: string, graphs: readonly TaskGraph[]): void {
  const best = new Map(graphs.map((graph) => [graph, bestListSchedule(graph, workers)]));
  const bound = new Map(graphs.map((graph) => [graph, lowerBound(graph, workers)]));
  const row = (name: string, spanOf: (graph: TaskGraph) => number) => {
    const spans = graphs.map((graph) => ({ graph, span: spanOf(graph) }));
    const overBest = spans.map(({ graph, span }) => span / (best.get(graph) ?? NaN));
    const overBound = spans.map(({ graph, span }) => span / (bound.get(graph) ?? NaN));
    const within = overBest.filter((ratio) => ratio <= 1.1).length;
    return [name, ...spread(overBest), `${within} of ${graphs.length}`, ...spread(overBound)];
  };
  console.log(
    `\n${title} (${graphs.length}), ${workers} workers, over the best of 104 list schedules that know all durations, and over the lower bound:\n`,
  );
  printTable(
    ["", "median", "worst", "within 1.1", "over bound", "worst"],
    [
      row("schedulePlan, durations known", ({ subtasks, durationOf }) => {
        const options = { maxParallel: workers, durationOf };
        return schedulePlan({ subtasks }, options).makespan;
      }),
      row("as at run time, not known", (graph) => unknownDurations(graph, workers)),
      row("in the order of the plan", (graph) => firstComeFirstServed(graph, workers)),
      row("level by level, known", (graph) => levelSchedule(graph, workers)),
      row("one after the other", totalOf),
    ],
  );
}

/** What came with the published graphs, beside what is computed here. */
function asPublished(graphs: readonly PublishedGraph[]): void {
  if (graphs.length === 0) return;
  const same = (isSame: (graph: PublishedGraph) => boolean) => graphs.filter(isSame).length;
  const optimum = same(({ subtasks, durationOf, optimum: known }) => {
    const options = { maxParallel: Infinity, durationOf };
    return schedulePlan({ subtasks }, options).makespan === known;
  });
  const waves = same((graph) => levelSchedule(graph, Infinity) === graph.waves);
  const sequential = same((graph) => totalOf(graph) === graph.sequential);
  console.log(
    `\nAs published: schedulePlan gives the optimum of ${optimum} of ${graphs.length}, level by level ${waves}, one after the other ${sequential}.`,
  );
}

function spread(ratios: readonly number[]): readonly string[] {
  return [median(ratios), Math.max(...ratios)].map((ratio) => `${ratio.toFixed(3)} x`);
}
