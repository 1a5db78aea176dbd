import { describe, expect, it } from "vitest";
import { compileAgent, defineAgent, definePlanner, executeAgent } from "../../src/index.ts";
import { collectGarbage } from "../helpers/collect-garbage.ts";
import { experimentRuntime } from "../helpers/experiment-run.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import { codeWorker, plannerReplies } from "../helpers/run-plan.ts";
import { planOf } from "../helpers/subtasks.ts";
import { wordRail } from "../helpers/word-rail.ts";

const agents = {
  "an agent": defineAgent({ name: "plain" }),
  "an agent with rails": defineAgent({
    name: "guarded",
    rails: [wordRail("never", "block", ["output"])],
    guardrail_config: { output_rails: [{ type: "custom", name: "word" }] },
  }),
  "an agent with a workflow": defineAgent({
    name: "steps",
    workflow_graph: {
      entry_point: "draft",
      nodes: [{ name: "draft", type: "llm", config: { prompt: "Draft: ${input.message}" } }],
      edges: [{ from: "draft", to: "END" }],
    },
  }),
};

// A server compiles every definition that it is given.
describe("the garbage collector", () => {
  it.each(Object.entries(agents))("takes the graph of %s that ran", async (_kind, agent) => {
    const invoked = async () => {
      const { runtime } = await testRuntime(["Hello."]);
      const graph = await compileAgent(agent, runtime);
      const configurable = { thread_id: "t" };
      await graph.invoke({ input: { message: "hi" } }, { configurable });
      await graph.withConfig({ tags: ["derived"] }).invoke(null, { configurable });
      await runtime.close();
      return new WeakRef(graph);
    };
    expect(await remaining([await invoked()])).toBe(0);
  });

  it("takes the runtime and the model of a planner that ran", async () => {
    const executed = async () => {
      const { runtime, model } = await testRuntime(plannerReplies());
      const planner = definePlanner({ workers: [codeWorker(() => "ok")] });
      const input = { message: "Do it.", plan: planOf({ a: "" }) };
      await executeAgent(planner, input, { runtime });
      await runtime.close();
      return [new WeakRef(runtime), new WeakRef(model)];
    };
    expect(await remaining(await executed())).toBe(0);
  });

  it("takes the runtime and the model of an experiment that ran", async () => {
    const executed = async () => {
      const { runtime, model, run } = await experimentRuntime(["Done.", "I reflect."]);
      await run({ cycle_count: 1 });
      await runtime.close();
      return [new WeakRef(runtime), new WeakRef(model)];
    };
    expect(await remaining(await executed())).toBe(0);
  });
});

/** How many of some objects are there after a collection. */
async function remaining(held: readonly WeakRef<object>[]): Promise<number> {
  await collectGarbage();
  return held.filter((reference) => reference.deref() !== undefined).length;
}
