import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { compileAgent, defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import type { GraphState } from "../../src/state/channels.ts";
import { repliesByPrompt } from "../helpers/prompt-replies.ts";
import { testRuntime } from "../helpers/run-agent.ts";

const echo = defineTool({
  name: "echo",
  description: "Gives back what it is given.",
  input_schema: z.object({ text: z.string() }),
  handler: ({ text }) => `echo ${text}`,
});

describe("a workflow run", () => {
  it("asks a node again whose answer does not fit its schema", async () => {
    const agent = defineAgent({
      name: "extract",
      output_schema: z.object({ total: z.number() }),
      workflow_graph: {
        entry_point: "read",
        nodes: [
          {
            name: "read",
            type: "llm",
            config: {
              prompt: "Read: ${input.message}",
              output_schema: {
                type: "object",
                properties: { total: { type: "number" } },
                required: ["total"],
              },
              writes: "execution.invoice",
            },
          },
        ],
        edges: [{ from: "read", to: "END" }],
      },
    });
    const { runtime, model } = await testRuntime(['{"total": "12"}', '{"total": 12}']);
    const result = await executeAgent(agent, { message: "12 EUR" }, { runtime });
    expect(result).toMatchObject({
      status: "COMPLETED",
      output: { total: 12 },
      state: { execution: { invoice: { total: 12 } } },
      attempts: [{ attempt_number: 0, errors: [] }],
    });
    expect(result.steps.map(({ next_action }) => next_action)).toEqual(["continue", "finish"]);
    expect(model.read(1).slice(1)).toEqual([
      "human: 12 EUR",
      "human: Read: 12 EUR",
      'ai: {"total": "12"}',
      expect.stringMatching(/^human: That answer was not accepted:\n- .*total/),
    ]);
  });

  it("starts the next attempt at the entry point, with why the answer was refused", async () => {
    const agent = defineAgent({
      name: "retry",
      workflow_graph: {
        entry_point: "note",
        nodes: [
          {
            name: "note",
            type: "tool",
            config: { tool: "echo", args: { text: "at ${attempt_number}" } },
          },
          { name: "answer", type: "llm", config: { prompt: "Answer now" } },
        ],
        edges: [
          { from: "note", to: "answer" },
          { from: "answer", to: "END" },
        ],
      },
      tools: [echo],
      validate: ({ message }) => (message === "good" ? [] : ["be good"]),
    });
    const { runtime, model } = await testRuntime(["bad", "good"]);
    const result = await executeAgent(agent, { message: "hi" }, { runtime });
    expect(result.output).toEqual({ message: "good" });
    expect(result.attempts.map(({ errors }) => errors)).toEqual([["be good"], []]);
    expect(
      result.steps.map(({ node, attempt_number, step_index }) => [
        node,
        attempt_number,
        step_index,
      ]),
    ).toEqual([
      ["note", 0, 0],
      ["answer", 0, 1],
      ["note", 1, 2],
      ["answer", 1, 3],
    ]);
    expect(new Set(result.steps.map(({ mode }) => mode))).toEqual(new Set(["fast"]));
    expect(model.read(1).slice(-3)).toEqual([
      "human: Answer now",
      "ai: bad",
      "human: That answer was not accepted:\n- be good\nMend these points and answer the request again.",
    ]);
  });

  it("answers from what is known when a loop has gone round as often as it may", async () => {
    const agent = defineAgent({
      name: "loop",
      workflow_graph: {
        entry_point: "draft",
        nodes: [
          { name: "draft", type: "llm", config: { prompt: "Draft" } },
          {
            name: "check",
            type: "router",
            config: { rules: [{ when: "false", choice: "ok" }], default: "again" },
          },
        ],
        edges: [
          { from: "draft", to: "check" },
          { from: "check", to: "END", condition: 'nodes.check.choice == "ok"' },
          { from: "check", to: "draft" },
        ],
      },
      execution_config: { max_iterations: 3 },
    });
    const { runtime, model } = await testRuntime(["one", "two", "three", "the best so far"]);
    const result = await executeAgent(agent, { message: "go" }, { runtime });
    expect(result).toMatchObject({
      status: "COMPLETED",
      incomplete: true,
      output: { message: "the best so far" },
    });
    expect(model.read(3).at(-1)).toMatch(/^human: No more steps are left\./);
  });

  it("ends a loop that asks no model with the node that went round too often", async () => {
    const agent = defineAgent({
      name: "spin",
      workflow_graph: {
        entry_point: "a",
        nodes: [{ name: "a", type: "tool", config: { tool: "echo", args: { text: "x" } } }],
        edges: [
          { from: "a", to: "a", condition: "true" },
          { from: "a", to: "END" },
        ],
      },
      tools: [echo],
      execution_config: { max_iterations: 2, max_attempts: 1 },
    });
    const { runtime } = await testRuntime([]);
    const { status, failure, steps } = await executeAgent(agent, { message: "go" }, { runtime });
    expect([status, steps.length]).toEqual(["FAILED", 2]);
    expect(failure?.message).toBe(
      'The only attempt failed: node "a" has run 2 times, as often as execution_config.max_iterations allows',
    );
  });

  it("keeps the conversation to what people said and were answered", async () => {
    const agent = defineAgent({
      name: "talk",
      workflow_graph: {
        entry_point: "inner",
        nodes: [
          { name: "inner", type: "llm", config: { prompt: "Think" } },
          { name: "outer", type: "llm", config: { prompt: "Speak" } },
        ],
        edges: [
          { from: "inner", to: "outer" },
          { from: "outer", to: "END" },
        ],
      },
    });
    const { runtime } = await testRuntime(repliesByPrompt({ Think: "hm", Speak: "hello" }), {
      checkpointer: new MemorySaver(),
    });
    const graph = await compileAgent(agent, runtime);
    const thread = { configurable: { thread_id: "t" } };
    await graph.invoke({ input: { message: "hi" } }, thread);
    await graph.invoke({ input: { message: "again" } }, thread);
    const { values } = await graph.getState(thread);
    const { messages, branches, steps, nodes, turn_number } = values as GraphState;
    expect(messages.map((message) => message.text)).toEqual(["hi", "hello", "again", "hello"]);
    expect([branches, steps.length, turn_number]).toEqual([[], 4, 1]);
    expect(Object.keys(nodes)).toEqual(["inner", "outer"]);
  });

  it("counts what a node has spent in the conditions of its edges", async () => {
    const agent = defineAgent({
      name: "thrifty",
      workflow_graph: {
        entry_point: "ask",
        nodes: [{ name: "ask", type: "llm", config: { prompt: "Ask ${usage.llm_calls}" } }],
        edges: [
          { from: "ask", to: "ask", condition: "usage.llm_calls < 3" },
          { from: "ask", to: "END" },
        ],
      },
      execution_config: { max_iterations: 9 },
    });
    const { runtime } = await testRuntime(
      repliesByPrompt({ "Ask 0": "a", "Ask 1": "b", "Ask 2": "c" }),
    );
    const { output } = await executeAgent(agent, { message: "go" }, { runtime });
    expect(output).toEqual({ message: "c" });
  });
});
