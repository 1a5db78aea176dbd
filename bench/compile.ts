/**
 * Time from a definition with a workflow graph to a runnable graph: everything that is checked when it loads, the plan,
 * and LangGraph's own compilation, beside a LangGraph graph of the same nodes and edges that does nothing.
 *
 *   npx tsx bench/compile.ts [--repeats 15]
 */
import { parseArgs } from "node:util";
import { Annotation, StateGraph } from "@langchain/langgraph";
import { compileAgent, createRuntime, defineAgent } from "../src/index.ts";
import type { AgentSpecInput } from "../src/definition/schema/agent.ts";
import { median } from "./helpers/median.ts";

const { values: options } = parseArgs({
  options: { repeats: { type: "string", default: "15" } },
});
const repeats = Number(options.repeats);

type Workflow = NonNullable<AgentSpecInput["workflow_graph"]>;
type Shape = (count: number) => Pick<Workflow, "nodes" | "edges">;

const name = (index: number) => `n${index}`;

/** Every kind of node in turn, with templates and conditions. */
function node(index: number): Workflow["nodes"][number] {
  const before = index === 0 ? "input.message" : `nodes.${name(index - 1)}`;
  switch (index % 4) {
    case 0:
      return {
        name: name(index),
        type: "llm",
        config: { prompt: `Step ${index}: \${input.message}`, writes: `execution.k${index}` },
      };
    case 1:
      return {
        name: name(index),
        type: "tool",
        config: { tool: "calculator", args: { expression: `\${${before}.text} + ${index}` } },
      };
    case 2:
      return {
        name: name(index),
        type: "router",
        config: {
          rules: [{ when: `${before}.outcome == "success"`, choice: "on" }],
          default: "back",
        },
      };
    default:
      return { name: name(index), type: "human", config: { kind: "input", prompt: "And?" } };
  }
}

const range = (count: number) => Array.from({ length: count }, (_, index) => index);
const nodes = (count: number) => range(count).map(node);

/** One after the other, each with a condition and a default. */
const chain: Shape = (count) => ({
  nodes: nodes(count),
  edges: range(count).flatMap((index) => [
    {
      from: name(index),
      to: name(Math.min(index + 2, count - 1)),
      condition: `size(steps) > ${index} && status == "EXECUTING"`,
    },
    { from: name(index), to: index + 1 < count ? name(index + 1) : "END" },
  ]),
});

/** Diamonds in a row: three branches side by side and their join, with a loop in every tenth. */
const diamonds: Shape = (count) => {
  const whole = count - (count % 5);
  const edges = range(whole / 5).flatMap((group): Workflow["edges"] => {
    const [fan, a, b, c, join] = range(5).map((at) => name(group * 5 + at));
    const next = (group + 1) * 5 < whole ? name((group + 1) * 5) : "END";
    const loop = { from: join ?? "", to: fan ?? "", condition: `size(steps) < ${group}` };
    return [
      { from: fan ?? "", to: [a ?? "", b ?? "", c ?? ""] },
      ...[a, b, c].map((from) => ({ from: from ?? "", to: join ?? "" })),
      ...(group % 10 === 0 ? [loop] : []),
      { from: join ?? "", to: next },
    ];
  });
  return { nodes: nodes(whole), edges };
};

/** One wide fan-out and its join. */
const fan: Shape = (count) => {
  const last = count - 1;
  const middle = range(count).slice(1, last).map(name);
  return {
    nodes: nodes(count),
    edges: [
      { from: name(0), to: middle },
      ...middle.map((from) => ({ from, to: name(last) })),
      { from: name(last), to: "END" },
    ],
  };
};

const runtime = await createRuntime({ checkpointer: false, env: {} });

async function ours(shape: Shape, count: number): Promise<number> {
  const graph = { entry_point: name(0), ...shape(count), output: { message: "done" } };
  const start = performance.now();
  const agent = defineAgent({
    name: "bench",
    tools: ["calculator"],
    execution_config: { max_iterations: 10 },
    workflow_graph: graph,
  });
  await compileAgent(agent, runtime);
  return performance.now() - start;
}

/** The same nodes and edges by hand: no conditions, no checks. */
function byHand(shape: Shape, count: number): number {
  const { nodes: all, edges } = shape(count);
  const targets = new Map(all.map((one) => [one.name, [] as string[]]));
  for (const { from, to } of edges) targets.get(from)?.push(...[to].flat());
  const start = performance.now();
  const builder = new StateGraph(Annotation.Root({ value: Annotation<string> }));
  for (const [one, ends] of targets) {
    builder.addNode(one, () => ({}), {
      ends: ends.map((end) => (end === "END" ? "__end__" : end)),
    });
  }
  builder.addEdge("__start__", name(0) as never);
  builder.compile();
  return performance.now() - start;
}

for (const [label, shape] of Object.entries({ chain, diamonds, fan })) {
  for (let warm = 0; warm < 5; warm += 1) {
    await ours(shape, 500);
    byHand(shape, 500);
  }
  console.log(`\n${label}: ms from definition to graph, median of ${repeats}`);
  let before = 0;
  for (const count of [125, 250, 500, 1000]) {
    const times: number[] = [];
    const floor: number[] = [];
    for (let round = 0; round < repeats; round += 1) {
      times.push(await ours(shape, count));
      floor.push(byHand(shape, count));
    }
    const time = median(times);
    const growth = before === 0 ? "" : `, ${(time / before).toFixed(2)} x the half`;
    const ratio = (time / median(floor)).toFixed(1);
    console.log(
      `  ${String(count).padStart(5)} nodes ${time.toFixed(1).padStart(7)} ms, ${ratio} x LangGraph alone (${median(floor).toFixed(1)} ms)${growth}`,
    );
    before = time;
  }
}
await runtime.close();
