import { definePlanner, defineWorker, type Runtime } from "../../src/index.ts";
import { criticalPath } from "../../src/planning/plan-graph.ts";
import type { Subtask } from "../../src/state/plan.ts";
import { median } from "../helpers/median.ts";
import { randomNumbers } from "../helpers/random-numbers.ts";
import { printTable } from "../helpers/table.ts";
import { bareDataflow } from "./bare-dataflow.ts";
import { lowerBound } from "./list-schedules.ts";
import { runPlan } from "./run-plan.ts";
import { sendLevels } from "./send-levels.ts";
import { withRuntime } from "./stores.ts";
import { levelByLevel, totalOf, unitsOf, type TaskGraph } from "./task-graph.ts";
import { unknownDurations } from "./virtual-clock.ts";

/** One graph run every way, in milliseconds. */
interface Measured {
  readonly graph: TaskGraph;
  readonly spans: Readonly<Record<string, number>>;
}

type Way = (graph: TaskGraph) => Promise<number>;

/** The most that a planner takes. */
const unlimited = 256;
const workers = 4;

/** Some of the graphs, the same in every run. */
export function sampled(graphs: readonly TaskGraph[], count: number): readonly TaskGraph[] {
  const random = randomNumbers(11);
  const drawn = graphs.map((graph) => ({ graph, at: random() }));
  return drawn
    .toSorted((a, b) => a.at - b.at)
    .slice(0, count)
    .map(({ graph }) => graph);
}

/**
 * Plans of workers that sleep, run by the planner on PGlite and by others beside it. Each graph is run once every way: the
 * medians are those of the graphs.
 *
 * @param unitMs milliseconds of a unit of work
 */
export async function printMakespans(
  of: Readonly<Record<string, readonly TaskGraph[]>>,
  unitMs: number,
): Promise<void> {
  console.log(`\n## Real runs on PGlite, ${unitMs} ms a unit`);
  await withRuntime("PGlite", async (runtime) => {
    const ways = waysOf(runtime, unitMs);
    for (const [title, graphs] of Object.entries(of)) {
      const [some] = graphs;
      if (some === undefined) continue;
      for (const way of Object.values(ways)) await way(some);
      const measured: Measured[] = [];
      for (const graph of graphs) measured.push(await measure(graph, ways));
      printOne(`${title} (${graphs.length})`, measured, unitMs);
      await printSequential(graphs.slice(0, 3), runtime, unitMs);
    }
  });
}

async function measure(graph: TaskGraph, ways: Readonly<Record<string, Way>>): Promise<Measured> {
  const spans: Record<string, number> = {};
  for (const [name, way] of Object.entries(ways)) spans[name] = await way(graph);
  return { graph, spans };
}

type Work = (subtask: Pick<Subtask, "id" | "description">) => Promise<unknown>;

function sleeping(unitMs: number): Work {
  return ({ id, description }) =>
    new Promise((resolve) => setTimeout(resolve, unitsOf(description) * unitMs, { id }));
}

function waysOf(runtime: Runtime, unitMs: number): Readonly<Record<string, Way>> {
  const work = sleeping(unitMs);
  const all = plannedBy(plannerOf(work, unlimited), runtime);
  const { checkpointer: saver } = runtime;
  return {
    planner: all,
    floor: ({ subtasks }) => bareDataflow(subtasks, { maxParallel: Infinity, work }),
    levels: (graph) => all(levelByLevel(graph)),
    send: ({ subtasks }) => sendLevels(subtasks, { maxParallel: Infinity, work, saver }),
    "planner, 4": plannedBy(plannerOf(work, workers), runtime),
    "floor, 4": ({ subtasks }) => bareDataflow(subtasks, { maxParallel: workers, work }),
    "send, 4": ({ subtasks }) => sendLevels(subtasks, { maxParallel: workers, work, saver }),
  };
}

function plannedBy(planner: ReturnType<typeof plannerOf>, runtime: Runtime): Way {
  return async ({ subtasks }) => (await runPlan(planner, subtasks, runtime)).makespan;
}

function plannerOf(work: Work, most: number) {
  return definePlanner({
    workers: [defineWorker({ name: "sleeper", description: "Works.", run: work })],
    max_parallel: most,
    max_subtasks: 5000,
  });
}

function printOne(title: string, measured: readonly Measured[], unitMs: number): void {
  const pathOf = ({ subtasks, durationOf }: TaskGraph) => criticalPath(subtasks, durationOf);
  const row =
    (idealOf: (graph: TaskGraph) => number) =>
    (name: string, way: string): readonly string[] => {
      const ratios = measured.map(
        ({ graph, spans }) => (spans[way] ?? NaN) / (idealOf(graph) * unitMs),
      );
      const sorted = ratios.toSorted((a, b) => a - b);
      const ninth = sorted[Math.ceil(0.9 * sorted.length) - 1] ?? NaN;
      return [name, ...[median(ratios), ninth, Math.max(...ratios)].map(times)];
    };
  const overPath = row((graph) => pathOf(graph).length);
  console.log(`\n${title}, up to ${unlimited} at once, over the critical path:\n`);
  const head = ["", "median", "nine of ten", "worst"];
  printTable(head, [
    overPath("planner", "planner"),
    overPath("promises alone (the floor)", "floor"),
    overPath("level by level, planner", "levels"),
    overPath("level by level, Send", "send"),
  ]);
  const shares = measured.map(
    ({ graph, spans }) =>
      ((spans["planner"] ?? NaN) - (spans["floor"] ?? NaN)) / pathOf(graph).ids.length,
  );
  const late = measured.map(
    ({ graph, spans }) =>
      ((spans["floor"] ?? NaN) - pathOf(graph).length * unitMs) / pathOf(graph).ids.length,
  );
  console.log(
    `\nOf a subtask on the critical path: timers ${median(late).toFixed(2)} ms late, the planner ${median(shares).toFixed(2)} ms.`,
  );
  console.log(`\n${title}, ${workers} at once:\n`);
  const overOwn = row((graph) => unknownDurations(graph, workers));
  const overBound = row((graph) => lowerBound(graph, workers));
  printTable(
    ["", "over its schedule", "nine of ten", "worst", "over the bound", "nine of ten", "worst"],
    [
      ["planner", "planner, 4"] as const,
      ["promises alone (the floor)", "floor, 4"] as const,
      ["level by level, Send", "send, 4"] as const,
    ].map(([name, way]) => [...overOwn(name, way), ...overBound(name, way).slice(1)]),
  );
}

/** One at a time is the sum of all: measured for a few. */
async function printSequential(
  graphs: readonly TaskGraph[],
  runtime: Runtime,
  unitMs: number,
): Promise<void> {
  const inTurn = plannedBy(plannerOf(sleeping(unitMs), 1), runtime);
  const lines: string[] = [];
  for (const graph of graphs) {
    const makespan = await inTurn(graph);
    const { length } = criticalPath(graph.subtasks, graph.durationOf);
    const overSum = times(makespan / (totalOf(graph) * unitMs));
    lines.push(`${overSum} the sum, ${times(makespan / (length * unitMs))} the critical path`);
  }
  console.log(`\nOne at a time, ${graphs.length} of them: ${lines.join("; ")}.`);
}

function times(ratio: number): string {
  return `${ratio.toFixed(3)} x`;
}
