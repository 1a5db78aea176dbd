/**
 * How long plans take: the order of their subtasks on a clock of its own, real runs over the critical path, what a subtask
 * costs beside its work, and where results are kept meanwhile.
 *
 * npx tsx bench/planning.ts [--data FILE] [--only schedules,makespans,overhead,agents,kept] [--quick] [--graphs 60] [--unit 10] [--repeats 5]
 *
 * All of it takes some six minutes, most of which is sleep.
 */
import { setMaxListeners } from "node:events";
import { existsSync } from "node:fs";
import { parseArgs } from "node:util";
import { printAgentWorkers } from "./planning/agent-workers.ts";
import { printKeptResults } from "./planning/kept-results.ts";
import { printMakespans, sampled } from "./planning/makespans.ts";
import { printChains, printOverhead } from "./planning/overhead.ts";
import { readPublishedGraphs } from "./planning/published-graphs.ts";
import { randomGraphs } from "./planning/random-graphs.ts";
import { printSchedules } from "./planning/schedules.ts";

const { values: options } = parseArgs({
  options: {
    data: { type: "string", default: "../shared/data/taskgraphs/worfbench.jsonl" },
    only: { type: "string", default: "schedules,makespans,overhead,agents,kept" },
    /** Fewer graphs and smaller plans, once each: for trying it, not for figures. */
    quick: { type: "boolean", default: false },
    /** Graphs of each sort that are really run, or `all`. */
    graphs: { type: "string" },
    repeats: { type: "string" },
    /** Milliseconds of a unit of work. */
    unit: { type: "string", default: "10" },
  },
});
const { quick } = options;
const repeats = Number(options.repeats ?? (quick ? 1 : 5));
const parts = new Set(options.only.split(","));
const published = existsSync(options.data) ? readPublishedGraphs(options.data) : [];
const random = randomGraphs(200);
// LangGraph listens to one signal for each of its tasks.
setMaxListeners(0);

if (published.length === 0) {
  console.log(
    `No ${options.data}: pass a file of task graphs with --data. Published graphs were not measured.`,
  );
}
if (parts.has("schedules")) printSchedules({ random, published });
if (parts.has("makespans")) {
  const count = (usual: number) =>
    options.graphs === "all" ? Infinity : Number(options.graphs ?? (quick ? 5 : usual));
  const graphs = {
    "Random graphs": sampled(random, count(25)),
    "Published graphs": sampled(published, count(60)),
  };
  await printMakespans(graphs, Number(options.unit));
}
if (parts.has("overhead")) {
  await printOverhead({ sizes: quick ? [100, 300] : [100, 300, 1000], repeats });
  await printChains([1000, 5000]);
}
if (parts.has("agents")) await printAgentWorkers(50, repeats);
if (parts.has("kept")) {
  const sizes = quick ? [250, 1000] : [250, 1000, 4000];
  await printKeptResults({ memory: sizes, PGlite: [1000] }, repeats);
}
