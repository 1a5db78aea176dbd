import { MemorySaver } from "@langchain/langgraph";
import { z } from "zod";
import { describe, expect, it } from "vitest";
import { compileAgent, defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import type { GraphState } from "../../src/state/channels.ts";
import { testRuntime } from "../helpers/run-agent.ts";

describe("a tier", () => {
  it("is after a restart what it was when a tool returned a big integer", async () => {
    const saver = new MemorySaver();
    const agent = defineAgent({
      name: "counts",
      initialExecutionState: () => ({ pages: 1 }),
      tools: {
        count: {
          description: "Counts.",
          input_schema: z.object({}),
          persistence: "execution",
          handler: (state) => ({
            newState: { ...state, execution: { pages: 2n as unknown as number } },
            toolResult: "counted",
          }),
        },
      },
    });
    const first = await testRuntime([{ calls: [{ name: "count", args: {} }] }, "done"], {
      checkpointer: saver,
    });
    const { status, steps } = await executeAgent(
      agent,
      { message: "go" },
      { runtime: first.runtime, threadId: "t" },
    );
    expect([status, steps[0]?.tool_results[0]?.outcome]).toEqual(["COMPLETED", "error"]);
    const again = await testRuntime([], { checkpointer: saver });
    const graph = await compileAgent(agent, again.runtime);
    const { values } = await graph.getState({ configurable: { thread_id: "t" } });
    expect((values as GraphState).execution).toEqual({ pages: 1 });
  });

  it("may have a key of the name of patches", async () => {
    const own = { __tier_patch__: { set: { n: 1 }, remove: ["kept"] }, kept: 1 };
    const agent = defineAgent({
      name: "own",
      tools: [
        defineTool({
          name: "replace",
          description: "Replaces the execution state.",
          input_schema: z.object({}),
          persistence: "execution",
          handler: (state) => ({ newState: { ...state, execution: own }, toolResult: null }),
        }),
      ],
    });
    const { runtime } = await testRuntime([{ calls: [{ name: "replace", args: {} }] }, "done"]);
    const { state } = await executeAgent(agent, { message: "go" }, { runtime });
    expect(state.execution).toEqual(own);
  });

  it("has what both branches wrote when one waited for a person through a restart", async () => {
    const saver = new MemorySaver();
    const agent = defineAgent({
      name: "waits",
      output_schema: z.object({}),
      initialExecutionState: (): Record<string, unknown> => ({ kept: 1, gone: 1 }),
      workflow_graph: {
        entry_point: "start",
        nodes: [
          { name: "start", type: "tool", config: { tool: "look" } },
          { name: "left", type: "tool", config: { tool: "change" } },
          { name: "right", type: "human", config: { kind: "input", writes: "execution.said" } },
          { name: "join", type: "tool", config: { tool: "look" } },
        ],
        edges: [
          { from: "start", to: ["left", "right"] },
          { from: "left", to: "join" },
          { from: "right", to: "join" },
          { from: "join", to: "END" },
        ],
        output: {},
      },
      tools: {
        look: { description: "Looks.", input_schema: z.object({}), handler: () => null },
        change: {
          description: "Changes the execution state.",
          input_schema: z.object({}),
          persistence: "execution",
          handler: (state) => ({
            newState: { ...state, execution: { kept: state.execution["kept"], left: true } },
            toolResult: null,
          }),
        },
      },
    });
    const first = await testRuntime([], { checkpointer: saver });
    const options = { runtime: first.runtime, threadId: "t" };
    expect((await executeAgent(agent, { message: "" }, options)).status).toBe("AWAITING_HUMAN");
    const { runtime } = await testRuntime([], { checkpointer: saver });
    const { status, state } = await executeAgent(agent, null, {
      runtime,
      threadId: "t",
      answer: "yes",
    });
    expect([status, state.execution]).toEqual(["COMPLETED", { kept: 1, left: true, said: "yes" }]);
  });

  it("does not take what is not JSON from a workflow node that writes it", async () => {
    const inner = defineAgent({
      name: "inner",
      output_schema: z.object({ when: z.any().overwrite(() => new Date(0)) }),
    });
    const agent = defineAgent({
      name: "outer",
      agents: [inner],
      output_schema: z.object({}),
      execution_config: { max_attempts: 1 },
      workflow_graph: {
        entry_point: "ask",
        nodes: [
          { name: "ask", type: "agent", config: { agent: "inner", writes: "execution.found" } },
        ],
        edges: [{ from: "ask", to: "END" }],
        output: {},
      },
    });
    const { runtime } = await testRuntime(['{"when": "today"}']);
    const { status, attempts, state } = await executeAgent(agent, { message: "" }, { runtime });
    expect([status, attempts[0]?.errors, state.execution]).toEqual([
      "FAILED",
      ['node "ask" writes execution.found, which is not JSON: execution.found.when is a Date'],
      {},
    ]);
  });
});
