import { describe, expect, it } from "vitest";
import { compileAgent, defineAgent, definePlanner, executeAgent } from "../../src/index.ts";
import { collectGarbage } from "../helpers/collect-garbage.ts";
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
describe("a compiled graph is collected once nothing holds it", () => {
  it.each(Object.entries(agents))("%s that was invoked", async (_kind, agent) => {
    const invoked = async () => {
      const { runtime } = await testRuntime(["Hello."]);
      const graph = await compileAgent(agent, runtime);
      const configurable = { thread_id: "t" };
      await graph.invoke({ input: { message: "hi" } }, { configurable });
      await graph.withConfig({ tags: ["derived"] }).invoke(null, { configurable });
      await runtime.close();
      return new WeakRef(graph);
    };
    const graph = await invoked();
    await collectGarbage();
    expect(graph.deref()).toBeUndefined();
  });

  it("a planner that was executed, with its runtime and its model", async () => {
    const executed = async () => {
      const { runtime, model } = await testRuntime(plannerReplies());
      const planner = definePlanner({ workers: [codeWorker(() => "ok")] });
      const input = { message: "Do it.", plan: planOf({ a: "" }) };
      await executeAgent(planner, input, { runtime });
      await runtime.close();
      return [new WeakRef(runtime), new WeakRef(model)];
    };
    const held = await executed();
    await collectGarbage();
    expect(held.map((reference) => reference.deref())).toEqual([undefined, undefined]);
  });
});
