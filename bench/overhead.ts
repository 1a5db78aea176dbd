/**
 * Time of one reasoning step (one model call that asks for one tool, one tool call) on a model and a tool that answer
 * at once: what is left is the framework. Prints medians, and the ratios that are claimed.
 *
 *   npm run bench:overhead -- [--repeats 15] [--database postgres://…]
 */
import { parseArgs } from "node:util";
import { openDatabase } from "../src/storage/database.ts";
import { openCheckpointer } from "../checkpointers/postgres.ts";
import { InstantModel } from "./helpers/instant-model.ts";
import {
  langchainAgent,
  rawLangGraph,
  stratagraph,
  stratagraphWorkflow,
  withBudget,
  type Loop,
  type Saving,
} from "./helpers/loops.ts";
import { median } from "./helpers/median.ts";

const { values: options } = parseArgs({
  options: {
    repeats: { type: "string", default: "15" },
    database: {
      type: "string",
      default: process.env["DATABASE_URL"] ?? "postgres://postgres@127.0.0.1:5432/test",
    },
  },
});
const repeats = Number(options.repeats);

/** Microseconds of every step of one turn of `steps` steps, and of the whole turn with everything written. */
async function stepTimes(loop: Loop, steps: number, saving?: Saving) {
  const model = new InstantModel(steps);
  const run = await loop(model, saving);
  // No turn collects the garbage of another loop.
  globalThis.gc?.();
  const start = performance.now();
  await run();
  const whole = (performance.now() - start) * 1000;
  return {
    whole,
    steps: model.calledAt.slice(1).map((at, i) => (at - (model.calledAt[i] ?? at)) * 1000),
  };
}

async function perStep(loops: Record<string, Loop>, steps: number) {
  const times: Record<string, number[]> = Object.fromEntries(
    Object.keys(loops).map((name) => [name, []]),
  );
  // What is compiled just in time should be compiled before it is measured.
  for (const loop of Object.values(loops)) await stepTimes(loop, 400);
  for (let round = 0; round < repeats; round += 1) {
    for (const [name, loop] of Object.entries(loops)) {
      const { steps: all } = await stepTimes(loop, steps);
      times[name]?.push(median(all));
    }
  }
  return Object.fromEntries(Object.entries(times).map(([name, all]) => [name, median(all)]));
}

function mean(all: readonly number[]): number {
  return all.reduce((sum, one) => sum + one, 0) / all.length;
}

/** The median hides what only some steps do, as shortening a context: the means are compared too. */
async function flatness(name: string, loop: Loop, runs: number, saving?: Saving) {
  const early: number[] = [];
  const late: number[] = [];
  const whole: number[] = [];
  const means: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    const times = await stepTimes(loop, 1010, saving);
    if (run === 0 && runs > 1) continue;
    early.push(median(times.steps.slice(5, 25)));
    late.push(median(times.steps.slice(985, 1005)));
    means.push(mean(times.steps.slice(900, 1000)) / mean(times.steps.slice(5, 105)));
    whole.push(times.whole / 1010);
  }
  const [first, last] = [median(early), median(late)];
  const shown = [first, last, median(whole)].map((time) => time.toFixed(0).padStart(6));
  console.log(
    `  ${name.padEnd(40)} step 10 ${shown[0]}, step 1,000 ${shown[1]}, ratio ${(last / first).toFixed(2)}, of the means of 100 steps ${median(means).toFixed(2)}; whole turn ${shown[2]} a step`,
  );
}

for (const steps of [20, 200]) {
  const loops = {
    "raw LangGraph": rawLangGraph,
    createAgent: langchainAgent,
    stratagraph,
    workflow: stratagraphWorkflow,
  };
  const result = await perStep(loops, steps);
  console.log(`\nµs a step, turn of ${steps} steps, median of ${repeats}:`);
  for (const [name, time] of Object.entries(result)) {
    const raw = result["raw LangGraph"] ?? Number.NaN;
    console.log(
      `  ${name.padEnd(16)} ${time.toFixed(0).padStart(6)}   ${(time / raw).toFixed(2)} x raw`,
    );
  }
}

console.log("\nµs a step: does it grow with the turn?");
for (const budget of [Infinity, 20_000]) {
  const { loop, workflow } = withBudget(budget);
  const contexts = budget === Infinity ? "everything" : `${budget.toLocaleString("en")} tokens`;
  await flatness(`stratagraph, contexts of ${contexts}`, loop, 6);
  await flatness(`workflow, contexts of ${contexts}`, workflow, 6);
}
await flatness("raw LangGraph, no saver", rawLangGraph, 6);
const database = await openDatabase({ url: options.database }).catch(() => null);
if (database === null) {
  console.log("  (no Postgres answers: the figures with a saver are left out)");
} else {
  const saver = await openCheckpointer(database);
  await saver.setup();
  for (const durability of ["async", "sync"] as const) {
    const saving = { saver, durability };
    await flatness(`stratagraph, stock saver, ${durability}`, stratagraph, 1, saving);
    await flatness(`raw LangGraph, stock saver, ${durability}`, rawLangGraph, 1, saving);
  }
  await database.close();
}
