import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import type { AgentSpecInput } from "../../src/definition/schema.ts";
import { repliesByPrompt } from "../helpers/prompt-replies.ts";
import { testRuntime } from "../helpers/run-agent.ts";

type Workflow = NonNullable<AgentSpecInput["workflow_graph"]>;

const echo = defineTool({
  name: "echo",
  description: "Gives back what it is given.",
  input_schema: z.object({ text: z.string() }),
  handler: ({ text }) => `echo ${text}`,
});

const add = defineTool({
  name: "add",
  description: "Adds to the sum.",
  input_schema: z.object({ n: z.number(), to: z.string().default("sum") }),
  persistence: "execution",
  handler: (state, { n, to }) => {
    const sums = state.execution as Record<string, number>;
    return {
      newState: { ...state, execution: { ...structuredClone(sums), [to]: (sums[to] ?? 0) + n } },
      toolResult: n,
    };
  },
});

const call = (tool: string, args: object) => ({ tool, args: args as Record<string, unknown> });

/** `start`, then all of `nodes` beside each other, then `join`. */
function fan(nodes: Workflow["nodes"], more: Partial<AgentSpecInput> = {}) {
  return defineAgent({
    name: "fan",
    output_schema: z.object({}),
    tools: [echo, add],
    execution_config: { max_iterations: 4, max_attempts: 1 },
    workflow_graph: {
      entry_point: "start",
      nodes: [
        { name: "start", type: "tool", config: call("echo", { text: "s" }) },
        ...nodes,
        { name: "join", type: "tool", config: call("echo", { text: "j" }) },
      ],
      edges: [
        { from: "start", to: nodes.map(({ name }) => name) },
        ...nodes.map(({ name }) => ({ from: name, to: "join" })),
        { from: "join", to: "END" },
      ],
      output: {},
    },
    ...more,
  } as never);
}

describe("branches beside each other", () => {
  it("give every step a number of its own, however long each takes to close", async () => {
    const agent = defineAgent({
      name: "numbers",
      tools: [echo],
      execution_config: { max_iterations: 4 },
      workflow_graph: {
        entry_point: "start",
        nodes: [
          { name: "start", type: "tool", config: call("echo", { text: "s" }) },
          { name: "a", type: "llm", config: { prompt: "A" } },
          { name: "run", type: "tool" },
          { name: "b", type: "llm", config: { prompt: "B one" } },
          { name: "b2", type: "llm", config: { prompt: "B two" } },
          { name: "join", type: "llm", config: { prompt: "Join" } },
        ],
        edges: [
          { from: "start", to: ["a", "b"] },
          { from: "a", to: "run", condition: "size(last.tool_calls) > 0" },
          { from: "a", to: "join" },
          { from: "run", to: "a" },
          { from: "b", to: "b2" },
          { from: "b2", to: "join" },
          { from: "join", to: "END" },
        ],
      },
    });
    const { runtime, model } = await testRuntime(
      repliesByPrompt({
        A: [{ calls: [{ name: "echo", args: { text: "x" } }] }, "A done"],
        "B one": "B done",
        "B two": "B2 done",
        Join: "joined",
      }),
    );
    const { steps } = await executeAgent(agent, { message: "go" }, { runtime });
    const numbers = steps.map(({ step_index }) => step_index).toSorted((x, y) => x - y);
    expect(numbers).toEqual([0, 1, 2, 3, 4, 5]);
    const second = model.requests
      .map((_, index) => model.read(index))
      .find((read) => read.includes("human: A") && read.some((line) => line.startsWith("tool:")));
    expect(second?.some((line) => line.includes("B done"))).toBe(false);
  });

  it("fail by name when tools of both change one key, and both land when they change others", async () => {
    const both = (to: string) =>
      fan([
        { name: "left", type: "tool", config: call("add", { n: 1 }) },
        { name: "right", type: "tool", config: call("add", { n: 10, to }) },
      ]);
    const { runtime } = await testRuntime([]);
    const lost = await executeAgent(both("sum"), { message: "" }, { runtime });
    expect(lost.failure).toEqual({
      cause: "tier_conflict",
      message:
        'Nodes "left" and "right" ran at the same time, and tools of both changed execution.sum: one change is lost. Let one node follow the other, or let them change different keys.',
    });
    const kept = await executeAgent(both("other"), { message: "" }, { runtime });
    expect([kept.status, kept.state.execution]).toEqual(["COMPLETED", { sum: 1, other: 10 }]);
  });

  it("share the calls that a turn may make", async () => {
    const agent = fan(
      ["x", "y", "z"].map((name) => ({
        name,
        type: "tool" as const,
        config: { ...call("echo", { text: name }) },
      })),
      { guardrail_config: { tool_rails: { max_calls_per_turn: 3 } } },
    );
    const { runtime } = await testRuntime([]);
    const { steps } = await executeAgent(agent, { message: "" }, { runtime });
    const outcomes = steps.map(({ node, tool_results }) => `${node} ${tool_results[0]?.outcome}`);
    expect(outcomes.toSorted()).toEqual(["start success", "x success", "y success", "z error"]);
  });

  it("name their calls as every provider takes it", async () => {
    const agent = fan([
      {
        name: "look_up_what_is_known_of_the_customer",
        type: "tool",
        config: call("echo", { text: "x" }),
      },
    ]);
    const { runtime } = await testRuntime([]);
    const { steps } = await executeAgent(agent, { message: "" }, { runtime });
    const ids = steps.flatMap(({ tool_predictions }) => tool_predictions.map(({ id }) => id));
    expect(new Set(ids).size).toBe(3);
    expect(ids.every((id) => /^[A-Za-z0-9_-]{1,40}$/.test(id))).toBe(true);
  });
});

describe("a workflow's end", () => {
  it("knows what was said last on whichever branch somebody spoke", async () => {
    const agent = defineAgent({
      name: "spoken",
      tools: [echo],
      workflow_graph: {
        entry_point: "start",
        nodes: [
          { name: "start", type: "tool", config: call("echo", { text: "s" }) },
          { name: "a", type: "tool", config: call("echo", { text: "a" }) },
          { name: "b", type: "llm", config: { prompt: "B" } },
        ],
        edges: [
          { from: "start", to: ["a", "b"] },
          { from: "a", to: "END" },
          { from: "b", to: "END" },
        ],
        output: "said ${last.text}",
      },
    });
    const { runtime } = await testRuntime(["hello"]);
    const { output } = await executeAgent(agent, { message: "go" }, { runtime });
    expect(output).toEqual({ message: "said hello" });
  });

  it("is not reached past a person who approves, however often the loop went round", async () => {
    const agent = defineAgent({
      name: "gate",
      execution_config: { max_iterations: 2, max_attempts: 1 },
      workflow_graph: {
        entry_point: "draft",
        nodes: [
          { name: "draft", type: "llm", config: { prompt: "Draft" } },
          { name: "ask", type: "human", config: { kind: "approval" } },
        ],
        edges: [
          { from: "draft", to: "ask" },
          { from: "ask", to: "END", condition: "nodes.ask.approved" },
          { from: "ask", to: "draft" },
        ],
      },
    });
    const { runtime } = await testRuntime(["v1", "v2", "v3"]);
    const options = { runtime, threadId: "t" };
    await executeAgent(agent, { message: "go" }, options);
    await executeAgent(agent, null, { ...options, answer: false });
    const { status, failure } = await executeAgent(agent, null, { ...options, answer: false });
    expect([status, failure?.message]).toEqual([
      "FAILED",
      'The only attempt failed. attempt 1: node "draft" has run 2 times, as often as execution_config.max_iterations allows',
    ]);
  });
});

describe("a deep node", () => {
  it("looks back at its calls with its own prompt", async () => {
    const agent = defineAgent({
      name: "deep",
      tools: [echo],
      execution_config: { max_iterations: 3 },
      workflow_graph: {
        entry_point: "ask",
        nodes: [
          { name: "ask", type: "llm", config: { prompt: "My task", mode: "deep" } },
          { name: "run", type: "tool" },
        ],
        edges: [
          { from: "ask", to: "run", condition: "size(last.tool_calls) > 0" },
          { from: "ask", to: "END" },
          { from: "run", to: "ask" },
        ],
      },
    });
    const { runtime, model } = await testRuntime([
      "plan",
      { calls: [{ name: "echo", args: { text: "x" } }] },
      '{"reflection": "fine", "synthesis": "", "progress": "advancing", "hypothesis": null}',
      "plan",
      "done",
    ]);
    const { output, steps } = await executeAgent(agent, { message: "go" }, { runtime });
    expect([output, steps[0]?.reflection]).toEqual([{ message: "done" }, "fine"]);
    expect(model.read(2).slice(0, -1)).toEqual([
      "human: go",
      "human: My task",
      'human: What the tools gave:\n- echo({"text":"x"}): echo x',
    ]);
  });
});
