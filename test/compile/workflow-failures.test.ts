import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent, defineTool, executeAgent, ToolFailure } from "../../src/index.ts";
import { repliesByPrompt } from "../helpers/prompt-replies.ts";
import { testRuntime } from "../helpers/run-agent.ts";

const echo = defineTool({
  name: "echo",
  description: "Gives back what it is given.",
  input_schema: z.object({ text: z.string() }),
  handler: ({ text }) => `echo ${text}`,
});

const broken = defineTool({
  name: "broken",
  description: "Fails.",
  input_schema: z.object({}),
  handler: () => {
    throw new ToolFailure("the shop is closed");
  },
});

describe("a workflow run that goes wrong", () => {
  const closed = (edges: { from: string; to: string; condition?: string }[]) =>
    defineAgent({
      name: "shop",
      output_schema: z.object({ said: z.string() }),
      workflow_graph: {
        entry_point: "buy",
        nodes: [
          { name: "buy", type: "tool", config: { tool: "broken", writes: "execution.bought" } },
          {
            name: "sorry",
            type: "tool",
            config: { tool: "echo", args: { text: "${nodes.buy.error}" } },
          },
        ],
        edges: [...edges, { from: "buy", to: "sorry" }, { from: "sorry", to: "END" }],
        output: { said: "${nodes.sorry.result}" },
      },
      tools: [echo, broken],
      execution_config: { max_attempts: 1 },
    });

  it("ends the attempt when a named tool fails and no edge asks how it went", async () => {
    const { runtime } = await testRuntime([]);
    const { status, failure, steps, state } = await executeAgent(
      closed([]),
      { message: "" },
      { runtime },
    );
    expect([status, failure?.message]).toEqual([
      "FAILED",
      'The only attempt failed: tool "broken" of node "buy" failed: the shop is closed',
    ]);
    expect(steps).toMatchObject([{ node: "buy", tool_results: [{ outcome: "failure" }] }]);
    expect(state.execution).toEqual({});
  });

  it("goes on after a tool that failed where an edge asks for it", async () => {
    const agent = closed([{ from: "buy", to: "END", condition: 'nodes.buy.outcome == "success"' }]);
    const { runtime } = await testRuntime([]);
    const result = await executeAgent(agent, { message: "" }, { runtime });
    expect(result.output).toEqual({ said: "echo the shop is closed" });
  });

  it("keeps a record of calls that the workflow goes past", async () => {
    const agent = defineAgent({
      name: "past",
      workflow_graph: {
        entry_point: "ask",
        nodes: [
          { name: "ask", type: "llm", config: { prompt: "Ask", tools: "all" } },
          { name: "run", type: "tool" },
          { name: "tell", type: "llm", config: { prompt: "Tell" } },
        ],
        edges: [
          { from: "ask", to: "run", condition: "false" },
          { from: "ask", to: "tell" },
          { from: "run", to: "ask" },
          { from: "tell", to: "END" },
        ],
      },
      tools: [echo],
      execution_config: { max_iterations: 3 },
    });
    const { runtime, model } = await testRuntime(
      repliesByPrompt({ Ask: { calls: [{ name: "echo", args: { text: "x" } }] }, Tell: "told" }),
    );
    const { output, steps } = await executeAgent(agent, { message: "go" }, { runtime });
    expect(output).toEqual({ message: "told" });
    expect(steps[0]?.tool_results).toMatchObject([
      { name: "echo", outcome: "error", error: "Not run: the workflow moved on to tell." },
    ]);
    const read = model.requests[1]?.messages ?? [];
    expect(read.map(({ type, text }) => `${type}: ${text}`)).toEqual([
      "human: go",
      'human: What the tools gave:\n- echo({"text":"x"}): error: Not run: the workflow moved on to tell.',
      "human: Tell",
    ]);
  });

  it("stops the branches beside one that fails", async () => {
    const ran: string[] = [];
    const mark = defineTool({
      name: "mark",
      description: "Notes that it ran.",
      input_schema: z.object({ as: z.string() }),
      handler: ({ as }) => {
        ran.push(as);
      },
    });
    const agent = defineAgent({
      name: "beside",
      output_schema: z.object({}),
      workflow_graph: {
        entry_point: "start",
        nodes: [
          { name: "start", type: "tool", config: { tool: "mark", args: { as: "start" } } },
          {
            name: "left",
            type: "tool",
            config: { tool: "mark", args: { as: "${execution.nothing}" } },
          },
          { name: "right", type: "tool", config: { tool: "mark", args: { as: "right" } } },
          { name: "later", type: "tool", config: { tool: "mark", args: { as: "later" } } },
          { name: "join", type: "tool", config: { tool: "mark", args: { as: "join" } } },
        ],
        edges: [
          { from: "start", to: ["left", "right"] },
          { from: "right", to: "later" },
          { from: "later", to: "join" },
          { from: "left", to: "join" },
          { from: "join", to: "END" },
        ],
        output: {},
      },
      tools: [mark],
    });
    const { runtime, events, onEvent } = await testRuntime([]);
    const { status, failure } = await executeAgent(agent, { message: "" }, { runtime, onEvent });
    expect([status, failure?.cause]).toEqual(["FAILED", "expression"]);
    expect(ran).toEqual(["start", "right"]);
    expect(events.filter(({ type }) => type === "done")).toHaveLength(1);
  });

  it("cancels all branches, and goes on from before when it is resumed", async () => {
    const stop = new AbortController();
    let runs = 0;
    const agent = defineAgent({
      name: "cancelled",
      output_schema: z.object({ n: z.number() }),
      workflow_graph: {
        entry_point: "start",
        nodes: [
          { name: "start", type: "tool", config: { tool: "echo", args: { text: "s" } } },
          { name: "left", type: "tool", config: { tool: "halt" } },
          { name: "right", type: "tool", config: { tool: "echo", args: { text: "r" } } },
          { name: "join", type: "tool", config: { tool: "echo", args: { text: "j" } } },
        ],
        edges: [
          { from: "start", to: ["left", "right"] },
          { from: "left", to: "join" },
          { from: "right", to: "join" },
          { from: "join", to: "END" },
        ],
        output: { n: "${nodes.left.result}" },
      },
      tools: [
        echo,
        defineTool({
          name: "halt",
          description: "Cancels the run the first time.",
          input_schema: z.object({}),
          handler: () => {
            runs += 1;
            if (runs === 1) stop.abort(new Error("enough"));
            return runs;
          },
        }),
      ],
    });
    const { runtime, events, onEvent } = await testRuntime([]);
    const options = { runtime, threadId: "t", onEvent };
    const cancelled = await executeAgent(
      agent,
      { message: "" },
      { ...options, signal: stop.signal },
    );
    expect(cancelled.status).toBe("CANCELLED");
    expect(events.filter(({ type }) => type === "done")).toHaveLength(1);
    const resumed = await executeAgent(agent, null, options);
    expect([resumed.status, resumed.output]).toEqual(["COMPLETED", { n: 2 }]);
  });

  it("fails a turn that takes longer than it may, with the call that was cut off", async () => {
    const agent = defineAgent({
      name: "slow",
      output_schema: z.object({}),
      workflow_graph: {
        entry_point: "wait",
        nodes: [{ name: "wait", type: "tool", config: { tool: "wait" } }],
        edges: [{ from: "wait", to: "END" }],
        output: {},
      },
      execution_config: { timeout_seconds: 2 },
      tools: [
        defineTool({
          name: "wait",
          description: "Waits.",
          input_schema: z.object({}),
          handler: () => {
            clock.advance(2_000);
            return new Promise(() => {});
          },
        }),
      ],
    });
    const { runtime, clock } = await testRuntime([]);
    const { status, failure, steps } = await executeAgent(agent, { message: "" }, { runtime });
    expect([status, failure?.cause]).toEqual(["FAILED", "turn_timeout"]);
    expect(steps).toMatchObject([{ node: "wait", tool_results: [{ outcome: "timeout" }] }]);
  });

  it("leaves a record of calls whose attempt a branch beside them ended", async () => {
    const agent = defineAgent({
      name: "ended",
      workflow_graph: {
        entry_point: "start",
        nodes: [
          { name: "start", type: "tool", config: { tool: "echo", args: { text: "s" } } },
          { name: "fails", type: "tool", config: { tool: "broken" } },
          { name: "asks", type: "llm", config: { prompt: "Ask", tools: "all" } },
          { name: "run", type: "tool" },
          { name: "join", type: "llm", config: { prompt: "Join" } },
        ],
        edges: [
          { from: "start", to: ["fails", "asks"] },
          { from: "fails", to: "join" },
          { from: "asks", to: "run", condition: "size(last.tool_calls) > 0" },
          { from: "asks", to: "join" },
          { from: "run", to: "asks" },
          { from: "join", to: "END" },
        ],
      },
      tools: [echo, broken],
      execution_config: { max_attempts: 2, max_iterations: 3 },
    });
    const { runtime } = await testRuntime(
      repliesByPrompt({ Ask: { calls: [{ name: "echo", args: { text: "x" } }] } }),
    );
    const { status, steps } = await executeAgent(agent, { message: "go" }, { runtime });
    expect(status).toBe("FAILED");
    const dropped = steps.filter(({ node }) => node === "asks");
    expect(dropped.map((step) => [step.attempt_number, step.tool_results[0]?.error])).toEqual([
      [0, "Not run: the attempt ended before."],
      [1, "Not run: the attempt ended before."],
    ]);
  });

  it("keeps what a node has done when no edge leads on from it", async () => {
    const agent = defineAgent({
      name: "lost",
      workflow_graph: {
        entry_point: "look",
        nodes: [
          {
            name: "look",
            type: "tool",
            config: { tool: "echo", args: { text: "x" }, writes: "execution.seen" },
          },
        ],
        edges: [{ from: "look", to: "END", condition: "execution.missing == 1" }],
      },
      tools: [echo],
    });
    const { runtime } = await testRuntime([]);
    const { failure, steps, state } = await executeAgent(agent, { message: "go" }, { runtime });
    expect(failure?.cause).toBe("expression");
    expect(steps.map(({ node }) => node)).toEqual(["look"]);
    expect(state.execution).toEqual({ seen: "echo x" });
  });

  it("says what the schema of a node refuses when the node is given up", async () => {
    const agent = defineAgent({
      name: "stubborn",
      workflow_graph: {
        entry_point: "read",
        nodes: [
          {
            name: "read",
            type: "llm",
            config: {
              output_schema: {
                type: "object",
                properties: { n: { type: "number" } },
                required: ["n"],
              },
            },
          },
        ],
        edges: [{ from: "read", to: "END" }],
      },
      execution_config: { max_attempts: 1 },
    });
    const { runtime } = await testRuntime(["{}", "{}", "{}"]);
    const { failure } = await executeAgent(agent, { message: "go" }, { runtime });
    expect(failure?.message).toMatch(
      /^The only attempt failed: the output_schema of node "read" refused its answers, the last for: .*n/,
    );
  });
});
