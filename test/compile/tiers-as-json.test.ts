import { MemorySaver } from "@langchain/langgraph";
import { z } from "zod";
import { describe, expect, it } from "vitest";
import { compileAgent, defineAgent, executeAgent } from "../../src/index.ts";
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
