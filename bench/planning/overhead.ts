import { definePlanner, defineWorker, schedulePlan, type Subtask } from "../../src/index.ts";
import { median } from "../helpers/median.ts";
import { printTable } from "../helpers/table.ts";
import { runPlan, type PlanRun } from "./run-plan.ts";
import { stores, withRuntime, type Store } from "./stores.ts";

export interface Overhead {
  /** Subtasks, ascending. */
  readonly sizes: readonly number[];
  readonly repeats: number;
}

const shapes: Readonly<Record<string, (size: number) => readonly Subtask[]>> = {
  wide: (size) => every(size, Infinity),
  "ten chains": (size) => every(size, 10),
  chain: (size) => every(size, 1),
};

/** Each after the one so many before it. */
function every(size: number, distance: number): readonly Subtask[] {
  return Array.from({ length: size }, (_, at) => ({
    id: `s${at}`,
    description: `Do part ${at}.`,
    dependencies: at < distance ? [] : [`s${at - distance}`],
  }));
}

const planner = definePlanner({
  workers: [defineWorker({ name: "idler", description: "Does nothing.", run: ({ id }) => id })],
  max_subtasks: 5000,
  execution_config: { timeout_seconds: 3600 },
});

/** What a subtask costs beside its work: workers that return at once, eight at a time. */
export async function printOverhead({ sizes, repeats }: Overhead): Promise<void> {
  console.log(`\n## Subtasks without work, median of ${repeats}\n`);
  const rows: (readonly string[])[] = [];
  for (const store of stores) {
    await withRuntime(store, async (runtime) => {
      const run = (shape: string, size: number) =>
        runPlan(planner, shapes[shape]?.(size) ?? [], runtime);
      // What is compiled just in time should be compiled before it is measured.
      for (const shape of Object.keys(shapes)) await run(shape, 100);
      for (const shape of Object.keys(shapes)) {
        const runs: PlanRun[][] = sizes.map(() => []);
        for (let round = 0; round < repeats; round += 1) {
          for (const [at, size] of sizes.entries()) runs[at]?.push(await run(shape, size));
        }
        rows.push(rowOf(store, shape, sizes, runs));
      }
    });
  }
  const heads = sizes.map((size) => size.toLocaleString("en"));
  printTable(
    ["ms a subtask", ...heads, "last over first", ...heads.map((head) => `turn, ${head}`)],
    rows,
  );
}

function rowOf(
  store: Store,
  shape: string,
  sizes: readonly number[],
  runs: readonly (readonly PlanRun[])[],
): readonly string[] {
  const each = (pick: (run: PlanRun) => number) =>
    sizes.map((size, at) => median((runs[at] ?? []).map(pick)) / size);
  const spans = each(({ makespan }) => makespan);
  const ratio = (spans.at(-1) ?? NaN) / (spans[0] ?? NaN);
  const ms = (value: number) => value.toFixed(2);
  return [
    `${store}, ${shape}`,
    ...spans.map(ms),
    `${ratio.toFixed(2)} x`,
    ...each(({ turn }) => turn).map(ms),
  ];
}

/** Long chains: nothing recurses, and the time is linear. */
export async function printChains(lengths: readonly number[]): Promise<void> {
  const lines: string[] = [];
  for (const length of lengths) {
    const subtasks = shapes["chain"]?.(length) ?? [];
    const start = performance.now();
    const { makespan } = schedulePlan({ subtasks }, { maxParallel: Infinity });
    const time = performance.now() - start;
    if (makespan !== length) throw new Error(`expected ${length} units, found ${makespan}`);
    const { turn } = await withRuntime("memory", (runtime) => runPlan(planner, subtasks, runtime));
    lines.push(
      `${length.toLocaleString("en")} in ${time.toFixed(1)} ms, really run in ${(turn / 1000).toFixed(1)} s (memory)`,
    );
  }
  console.log(`\nChains on a clock of their own: ${lines.join("; ")}.`);
}
