import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { compileAgent, createRuntime, defineAgent, executeAgent } from "../../src/index.ts";
import type { AgentEvent } from "../../src/state/events.ts";
import { single } from "../helpers/nested-agents.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import { ScriptedModel } from "../helpers/scripted-model.ts";

describe("what happens in an agent node", () => {
  const inner = single({ agent: "writer" }, defineAgent({ name: "writer" }), { name: "inner" });
  const outer = single({ agent: "inner" }, inner, { name: "outer" });

  it("is told with the nodes around it", async () => {
    const { runtime, events, onEvent } = await testRuntime(["done"]);
    await executeAgent(outer, { message: "go" }, { runtime, onEvent });
    const places = events.map(({ within, node, type }) => [...within, node, type].join(" "));
    expect(places.filter((place) => / (step|message|done|node)$/.test(place))).toEqual([
      "it it reason step",
      "it it finalize message",
      "it it finalize done",
      "it it node",
      "it finalize message",
      "it finalize done",
      "it node",
      "finalize message",
      "finalize done",
    ]);
  });

  it.each([true, false])("comes in the custom stream with subgraphs %s", async (subgraphs) => {
    const { runtime } = await testRuntime(["done"]);
    const graph = await compileAgent(outer, runtime);
    const within: string[] = [];
    const namespaces = new Set<string>();
    const stream = await graph.stream(
      { input: { message: "go" } },
      { configurable: { thread_id: "t" }, streamMode: ["custom"], subgraphs },
    );
    for await (const chunk of stream as AsyncIterable<unknown[]>) {
      const event = chunk.at(-1) as AgentEvent;
      if (event.type === "done") within.push(event.within.join(" "));
      if (subgraphs)
        namespaces.add((chunk[0] as string[]).map((part) => part.split(":")[0]).join(" "));
    }
    expect(within).toEqual(["it it", "it", ""]);
    expect([...namespaces].toSorted()).toEqual(subgraphs ? ["", "it", "it it"] : []);
  });

  it("is drawn as a graph inside of the graph", async () => {
    const { runtime } = await testRuntime(["done"]);
    const graph = await compileAgent(outer, runtime);
    const { nodes } = await graph.getGraphAsync({ xray: true });
    expect(Object.keys(nodes)).toContain("it:it:reason");
  });
});

describe("the agent of a node", () => {
  const deepTurn = ["An approach.", "A plan.", "An answer.", '{"accepted": true, "reasons": []}'];

  it("thinks with its own model and mode, and with what a run asks for instead", async () => {
    const model = new ScriptedModel([...deepTurn, ...deepTurn]);
    const asked: unknown[] = [];
    const runtime = await createRuntime({
      checkpointer: new MemorySaver(),
      models: {
        resolve: (config) => {
          const { default_model, temperature } = config;
          asked.push([default_model, temperature]);
          return model.resolve();
        },
      },
    });
    const deep = defineAgent({
      name: "deep",
      llm_config: { default_model: "test:deep" },
      execution_config: { mode: "deep" },
    });
    const agent = single({ agent: "deep" }, deep, { llm_config: { default_model: "test:top" } });
    await executeAgent(agent, { message: "go" }, { runtime });
    expect(model.requests).toHaveLength(4);
    expect(asked).toContainEqual(["test:deep", undefined]);
    asked.length = 0;
    await executeAgent(agent, { message: "go" }, { runtime, model: "test:run", temperature: 1 });
    expect(new Set(asked.map((one) => JSON.stringify(one)))).toEqual(new Set(['["test:run",1]']));
    expect(model.requests).toHaveLength(8);
  });
});
