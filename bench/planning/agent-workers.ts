import { randomUUID } from "node:crypto";
import { Annotation, Send, START, StateGraph } from "@langchain/langgraph";
import {
  compileAgent,
  defineAgent,
  definePlanner,
  executeAgent,
  type Runtime,
} from "../../src/index.ts";
import { median } from "../helpers/median.ts";
import { printTable } from "../helpers/table.ts";
import { runPlan } from "./run-plan.ts";
import { stores, withRuntime } from "./stores.ts";

const atOnce = 8;
const agent = defineAgent({ name: "answerer", description: "Answers." });
const planner = definePlanner({ workers: [agent], max_parallel: atOnce });

/** A planner with so many agent workers beside the same turns of the same agent without a planner, eight at a time. */
export async function printAgentWorkers(count: number, repeats: number): Promise<void> {
  console.log(
    `\n## ${count} agents of one model call, ${atOnce} at a time, median of ${repeats}\n`,
  );
  const rows: (readonly string[])[] = [];
  for (const store of stores) {
    rows.push(await withRuntime(store, (runtime) => rowOf(store, runtime, { count, repeats })));
  }
  const ways = ["planner", "graph.invoke", "subgraphs by Send", "executeAgent"];
  printTable(["ms a turn", ...ways, "planner over invoke", "over Send"], rows);
}

async function rowOf(
  store: string,
  runtime: Runtime,
  { count, repeats }: { readonly count: number; readonly repeats: number },
): Promise<readonly string[]> {
  const graph = await compileAgent(agent, runtime);
  const subtasks = Array.from({ length: count }, (_, at) => ({
    id: `s${at}`,
    description: `Answer ${at}.`,
    dependencies: [],
  }));
  const input = { message: "Answer." };
  const ways = {
    planner: async () => (await runPlan(planner, subtasks, runtime)).makespan,
    invoke: () =>
      timed(count, () => {
        const thread = { configurable: { thread_id: randomUUID() } };
        return graph.invoke({ input }, { ...thread, ...kept(runtime) });
      }),
    send: () => sendAll(count, runtime),
    execute: () => timed(count, () => executeAgent(agent, input, { runtime })),
  };
  const times: Record<keyof typeof ways, number[]> = {
    planner: [],
    invoke: [],
    send: [],
    execute: [],
  };
  for (let round = -3; round < repeats; round += 1) {
    for (const [name, way] of Object.entries(ways)) {
      const time = await way();
      if (round >= 0) times[name as keyof typeof ways].push(time / count);
    }
  }
  const [ours = NaN, invoke = NaN, send = NaN, execute = NaN] = [
    times.planner,
    times.invoke,
    times.send,
    times.execute,
  ].map((all) => median(all));
  const more = (than: number) => `${ours >= than ? "+" : "−"}${Math.abs(ours - than).toFixed(2)}`;
  const cells = [ours, invoke, send, execute].map((time) => time.toFixed(2));
  return [store, ...cells, more(invoke), more(send)];
}

/** The same agent as a subgraph of a graph of LangGraph's own, so many of them by `Send`. */
async function sendAll(count: number, runtime: Runtime): Promise<number> {
  // Without a checkpointer of its own it is kept with the graph around it.
  const inner = await compileAgent(agent, { ...runtime, checkpointer: undefined });
  const State = Annotation.Root({ done: Annotation<number>({ reducer: (a, b) => a + b }) });
  const { checkpointer } = runtime;
  const graph = new StateGraph(State)
    .addNode("work", async () => {
      await inner.invoke({ input: { message: "Answer." } });
      return { done: 1 };
    })
    .addConditionalEdges(START, () => Array.from({ length: count }, () => new Send("work", {})))
    .compile(checkpointer === undefined ? {} : { checkpointer });
  const start = performance.now();
  await graph.invoke(
    { done: 0 },
    { configurable: { thread_id: randomUUID() }, maxConcurrency: atOnce, ...kept(runtime) },
  );
  return performance.now() - start;
}

function kept({ checkpointer }: Runtime) {
  return checkpointer === undefined ? {} : { durability: "async" as const };
}

/** Milliseconds until all have ended, so many at a time. */
async function timed(count: number, run: () => Promise<unknown>): Promise<number> {
  let left = count;
  const start = performance.now();
  const one = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await run();
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  return performance.now() - start;
}
