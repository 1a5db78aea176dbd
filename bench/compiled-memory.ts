/**
 * The heap that a process keeps of graphs that were compiled, invoked once and dropped: agents, and LangGraph graphs
 * whose state is a zod object with a reducer.
 *
 *   npm run bench:compiled-memory -- [--graphs 500]
 */
import { parseArgs } from "node:util";
import { END, START, StateGraph } from "@langchain/langgraph";
import { withLangGraph } from "@langchain/langgraph/zod";
import { z } from "zod";
import { compileAgent, createRuntime, defineAgent } from "../src/index.ts";
import { heapInUse } from "../test/helpers/collect-garbage.ts";
import { printTable } from "./helpers/table.ts";
import { timedModels } from "./helpers/timed-models.ts";

const { values: options } = parseArgs({
  options: { graphs: { type: "string", default: "500" } },
});
const graphs = Number(options.graphs);

const runtime = await createRuntime({ checkpointer: false, env: {}, models: timedModels });

const subjects: Readonly<Record<string, (at: number) => Promise<unknown>>> = {
  "an agent": async (at) => {
    const agent = defineAgent({ name: `agent${at}`, system_prompt: { role: `Number ${at}.` } });
    const graph = await compileAgent(agent, runtime);
    return graph.invoke({ input: { message: "hi" } });
  },
  "a LangGraph graph with a zod state": (at) => {
    const list = withLangGraph(z.array(z.string()), {
      default: () => [`${at}`],
      reducer: { fn: (before: string[], more: string[]) => [...before, ...more] },
    });
    const graph = new StateGraph(z.object({ list }))
      .addNode("say", () => ({ list: ["hello"] }))
      .addEdge(START, "say")
      .addEdge("say", END)
      .compile();
    return graph.invoke({ list: ["hi"] });
  },
};

const rows: string[][] = [];
for (const [subject, run] of Object.entries(subjects)) {
  for (let at = 0; at < 50; at += 1) await run(at);
  const before = await heapInUse();
  for (let at = 0; at < graphs; at += 1) await run(at);
  const kept = (await heapInUse()) - before;
  rows.push([subject, `${(kept / graphs / 1024).toFixed(1)} KiB`]);
}
printTable(["compiled, invoked, dropped", "heap kept of each"], rows);
