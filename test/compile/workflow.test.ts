import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  compileAgent,
  createRuntime,
  defineAgent,
  defineTool,
  executeAgent,
} from "../../src/index.ts";
import { repliesByPrompt } from "../helpers/prompt-replies.ts";
import { testRuntime } from "../helpers/run-agent.ts";

const echo = defineTool({
  name: "echo",
  description: "Gives back what it is given.",
  input_schema: z.object({ text: z.string() }),
  handler: ({ text }) => `echo ${text}`,
});

describe("a workflow", () => {
  it("runs one node after the other and answers with what the last one said", async () => {
    const agent = defineAgent({
      name: "chain",
      workflow_graph: {
        entry_point: "draft",
        nodes: [
          { name: "draft", type: "llm", config: { prompt: "Draft: ${input.message}" } },
          { name: "polish", type: "llm", config: { prompt: "Polish: ${nodes.draft.text}" } },
        ],
        edges: [
          { from: "draft", to: "polish" },
          { from: "polish", to: "END" },
        ],
      },
    });
    const { runtime, model } = await testRuntime(
      repliesByPrompt({ "Draft: hello": "rough", "Polish: rough": "smooth" }),
    );
    const result = await executeAgent(agent, { message: "hello" }, { runtime });
    expect(result).toMatchObject({
      status: "COMPLETED",
      output: { message: "smooth" },
      failure: null,
    });
    expect(
      result.steps.map(({ node, step_index, thought }) => [node, step_index, thought]),
    ).toEqual([
      ["draft", 0, "rough"],
      ["polish", 1, "smooth"],
    ]);
    expect(model.read(1)).toEqual(["human: hello", "ai: rough", "human: Polish: rough"]);
  });

  it("takes the first edge whose condition holds, else the default", async () => {
    const agent = defineAgent({
      name: "choose",
      input_schema: z.object({ n: z.number() }),
      output_schema: z.object({ way: z.string() }),
      workflow_graph: {
        entry_point: "size",
        nodes: [
          {
            name: "size",
            type: "router",
            config: { rules: [{ when: "input.n > 10", choice: "big" }], default: "small" },
          },
          { name: "big", type: "tool", config: { tool: "echo", args: { text: "BIG" } } },
          {
            name: "small",
            type: "tool",
            config: { tool: "echo", args: { text: "small ${input.n}" } },
          },
        ],
        edges: [
          { from: "size", to: "big", condition: 'nodes.size.choice == "big"' },
          { from: "size", to: "small" },
          { from: "big", to: "END" },
          { from: "small", to: "END" },
        ],
        output: { way: "${has(nodes.big) ? nodes.big.result : nodes.small.result}" },
      },
      tools: [echo],
    });
    const { runtime } = await testRuntime([]);
    const big = await executeAgent(agent, { n: 11 }, { runtime });
    expect([big.status, big.output]).toEqual(["COMPLETED", { way: "echo BIG" }]);
    const small = await executeAgent(agent, { n: 3 }, { runtime });
    expect(small.output).toEqual({ way: "echo small 3" });
  });

  it("runs a list in parallel and waits for all of it at the join", async () => {
    const agent = defineAgent({
      name: "fan",
      workflow_graph: {
        entry_point: "start",
        nodes: [
          { name: "start", type: "tool", config: { tool: "echo", args: { text: "s" } } },
          {
            name: "quick",
            type: "tool",
            config: { tool: "echo", args: { text: "q" }, writes: "execution.quick" },
          },
          { name: "slow", type: "llm", config: { prompt: "Slow one", tools: "all" } },
          { name: "run", type: "tool" },
          {
            name: "note",
            type: "tool",
            config: {
              tool: "echo",
              args: { text: "${nodes.slow.text}" },
              writes: "execution.slow",
            },
          },
          {
            name: "join",
            type: "llm",
            config: { prompt: "Join: ${execution.quick} ${execution.slow}" },
          },
        ],
        edges: [
          { from: "start", to: ["quick", "slow"] },
          { from: "slow", to: "run", condition: "size(last.tool_calls) > 0" },
          { from: "slow", to: "note" },
          { from: "run", to: "slow" },
          { from: "quick", to: "join" },
          { from: "note", to: "join" },
          { from: "join", to: "END" },
        ],
      },
      tools: [echo],
      execution_config: { max_iterations: 5 },
    });
    const { runtime, model, events, onEvent } = await testRuntime(
      repliesByPrompt({
        "Slow one": [{ calls: [{ name: "echo", args: { text: "x" } }] }, "thought over"],
        "Join: echo q echo thought over": "joined",
      }),
    );
    const result = await executeAgent(agent, { message: "go" }, { runtime, onEvent });
    expect(result.failure).toBeNull();
    expect(result.output).toEqual({ message: "joined" });
    expect(result.state.execution).toEqual({ quick: "echo q", slow: "echo thought over" });
    expect(result.steps.map(({ node }) => node)).toEqual([
      "start",
      "quick",
      "slow",
      "slow",
      "note",
      "join",
    ]);
    expect(result.steps.map(({ step_index }) => step_index)).toEqual([0, 1, 2, 3, 4, 5]);
    const ended = events.flatMap((event) => (event.type === "node" ? [event.node] : []));
    // The two branches of one superstep end in either order.
    expect(ended.slice(1, 3).toSorted()).toEqual(["quick", "slow"]);
    expect(ended.toSpliced(1, 2)).toEqual(["start", "run", "slow", "note", "join"]);
    expect(model.requests).toHaveLength(3);
  });

  it("fails by name when no edge can be taken", async () => {
    const agent = defineAgent({
      name: "stuck",
      workflow_graph: {
        entry_point: "only",
        nodes: [{ name: "only", type: "tool", config: { tool: "echo", args: { text: "x" } } }],
        edges: [{ from: "only", to: "END", condition: 'nodes.only.result == "y"' }],
      },
      tools: [echo],
    });
    const { runtime } = await testRuntime([]);
    const { status, failure } = await executeAgent(agent, { message: "go" }, { runtime });
    expect([status, failure]).toEqual([
      "FAILED",
      {
        cause: "no_route",
        message:
          'No edge of node "only" can be taken: nodes.only.result is "echo x". None of its conditions holds: \'nodes.only.result == "y"\'. Add an edge without a condition as the default.',
      },
    ]);
  });

  it("is not compiled with a model that no provider has", async () => {
    const agent = defineAgent({
      name: "modelled",
      workflow_graph: {
        entry_point: "ask",
        nodes: [{ name: "ask", type: "llm", config: { model: "opnai:gpt-4o-mini" } }],
        edges: [{ from: "ask", to: "END" }],
      },
    });
    const runtime = await createRuntime({ checkpointer: false, env: {} });
    await expect(compileAgent(agent, runtime)).rejects.toThrow(
      'Unknown model "opnai:gpt-4o-mini": expected provider:model with one of the providers openai, anthropic, google, mistral, groq, bedrock, ollama, offline. Did you mean "openai:gpt-4o-mini"?',
    );
  });
});
