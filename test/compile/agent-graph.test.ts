import { MemorySaver } from "@langchain/langgraph";
import { z } from "zod";
import { describe, expect, it } from "vitest";
import { stampOf } from "../../src/compile/agent-graph.ts";
import { compileAgent, createRuntime, defineAgent, defineTool } from "../../src/index.ts";
import { around, asker } from "../helpers/nested-agents.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import { StampingSaver } from "../helpers/stamping-saver.ts";

const thread = { configurable: { thread_id: "t" } };

describe("the hash of a compiled definition", () => {
  it("reaches the checkpointer with every checkpoint, also of updates and of agents inside", async () => {
    const saver = new StampingSaver();
    const { runtime } = await testRuntime(["one", "two", "three", "four"], { checkpointer: saver });
    const graph = await compileAgent(around("top", asker), runtime);
    await graph.invoke({ input: { message: "go" } }, thread);
    await graph.updateState(thread, { nodes: { extra: 1 } }, "before");
    await graph.withConfig({ tags: ["x"] }).invoke(
      { input: { message: "go" } },
      {
        configurable: { thread_id: "other" },
      },
    );

    const { hash, document } = stampOf(graph)!;
    expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(new Set(saver.puts.map((put) => put.hash))).toEqual(new Set([hash]));
    expect(new Set(saver.puts.map(({ source }) => source))).toEqual(
      new Set(["input", "loop", "update"]),
    );
    expect(saver.puts.some(({ namespace }) => namespace.startsWith("inner:"))).toBe(true);
    expect(saver.documents.get(hash)).toEqual(document);
    expect(Object.keys(document.agents)).toEqual(["asker"]);
  });

  it("covers the agents that are workers of a planner, listed or not", async () => {
    const { runtime } = await testRuntime([]);
    const documentWith = async (config: { workers?: string[] }) => {
      const agent = defineAgent({
        name: "lead",
        agents: [defineAgent({ name: "leaf", description: "One." })],
        workflow_graph: {
          entry_point: "work",
          nodes: [{ name: "work", type: "planner", config }],
          edges: [{ from: "work", to: "END" }],
        },
      });
      return stampOf(await compileAgent(agent, runtime))!.document;
    };
    for (const config of [{}, { workers: ["leaf"] }]) {
      const { agents } = await documentWith(config);
      expect(agents).toMatchObject({ leaf: { spec: { name: "leaf", description: "One." } } });
    }
  });

  it("is the same for the same definition, and another when a tool of the registry is", async () => {
    const hashWith = async (version: string) => {
      const send = defineTool({
        name: "send",
        description: "Sends.",
        input_schema: z.object({}),
        version,
        handler: () => "sent",
      });
      const runtime = await createRuntime({
        models: (await testRuntime([])).model,
        checkpointer: new MemorySaver(),
        tools: [send],
        env: {},
      });
      return stampOf(await compileAgent(defineAgent({ name: "a", tools: ["send"] }), runtime))!
        .hash;
    };
    expect(await hashWith("1.0.0")).toBe(await hashWith("1.0.0"));
    expect(await hashWith("1.0.0")).not.toBe(await hashWith("1.0.1"));
  });
});
