import { randomUUID } from "node:crypto";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  Annotation,
  END,
  START,
  StateGraph,
  task,
  type BaseCheckpointSaver,
} from "@langchain/langgraph";
import { median } from "../helpers/median.ts";
import { printTable } from "../helpers/table.ts";
import { withRuntime, type Store } from "./stores.ts";

const State = Annotation.Root({ count: Annotation<number>() });

/** Subtasks in ten chains, each with a result of 200 characters, in one node of a graph. */
type Keeping = (count: number, config: RunnableConfig) => Promise<{ count: number }>;

/** Begins each when the one ten before it has ended. */
async function tenChains<Result>(
  count: number,
  one: (at: number, before: Promise<unknown>) => Promise<Result>,
): Promise<{ count: number }> {
  const running: Promise<Result>[] = [];
  for (let at = 0; at < count; at += 1) {
    running.push(one(at, running[at - 10] ?? Promise.resolve()));
  }
  return { count: (await Promise.all(running)).length };
}

const resultOf = (at: number) => ({ id: at, result: "x".repeat(200) });

const asTask = task("subtask", async (at: number, before: Promise<unknown>) => {
  await before;
  return resultOf(at);
});

/** LangGraph's `task`, whose results it keeps itself. */
const byTask: Keeping = (count) => tenChains(count, asTask);

/** Writes beside the checkpoint that the node was started from, as src/compile/planner/subtask-log.ts makes them. */
const byOwnWrites: Keeping = (count, { configurable = {} }) => {
  const saver = configurable["__pregel_checkpointer"] as BaseCheckpointSaver;
  const checkpoints = configurable["checkpoint_map"] as Readonly<Record<string, string>>;
  const { thread_id } = configurable;
  const at = { configurable: { thread_id, checkpoint_ns: "", checkpoint_id: checkpoints[""] } };
  return tenChains(count, async (number, before) => {
    await before;
    const result = resultOf(number);
    await saver.putWrites(at, [["subtasks", result]], `subtask-${number}`);
    return result;
  });
};

/** Nothing is kept: what running the promises takes. */
const forgetting: Keeping = (count) =>
  tenChains(count, async (at, before) => {
    await before;
    return resultOf(at);
  });

const ways = { task: byTask, "own writes": byOwnWrites, nothing: forgetting } as const;

/** How results are kept while a node runs: the two ways that start a successor before its siblings end. */
export async function printKeptResults(
  counts: Readonly<Partial<Record<Store, readonly number[]>>>,
  repeats: number,
): Promise<void> {
  console.log(`\n## How results are kept: ms a subtask of one node, median of ${repeats}\n`);
  const rows: (readonly string[])[] = [];
  for (const [store, sizes] of Object.entries(counts)) {
    await withRuntime(store as Store, async ({ checkpointer }) => {
      for (const count of sizes) {
        rows.push([`${store}, ${count.toLocaleString("en")}`, ...(await one(count, checkpointer))]);
      }
    });
  }
  printTable(["", ...Object.keys(ways)], rows);

  async function one(count: number, saver: BaseCheckpointSaver | undefined) {
    if (saver === undefined) throw new TypeError("results are kept by a saver");
    for (const way of Object.values(ways)) await nodeTime(way, 250, saver);
    const times: Record<string, number[]> = {};
    // The slow one takes most of a minute for 4,000.
    const rounds = count > 1000 ? 1 : repeats;
    for (let round = 0; round < rounds; round += 1) {
      for (const [name, way] of Object.entries(ways)) {
        (times[name] ??= []).push((await nodeTime(way, count, saver)) / count);
      }
    }
    return Object.values(times).map((all) => median(all).toFixed(2));
  }
}

/** Milliseconds of a graph of one node. */
async function nodeTime(way: Keeping, count: number, saver: BaseCheckpointSaver): Promise<number> {
  const graph = new StateGraph(State)
    .addNode("subtasks", (_, config) => way(count, config))
    .addEdge(START, "subtasks")
    .addEdge("subtasks", END)
    .compile({ checkpointer: saver });
  const start = performance.now();
  const thread = { configurable: { thread_id: randomUUID() }, durability: "async" } as const;
  const { count: ended } = await graph.invoke({ count: 0 }, thread);
  if (ended !== count) throw new Error(`${ended} of ${count} subtasks ended`);
  return performance.now() - start;
}
