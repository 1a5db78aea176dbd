import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import type { AgentSpecInput } from "../../src/definition/schema/agent.ts";
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

/** Sets a key of the execution state, after so many turns of the event loop. */
const set = defineTool({
  name: "set",
  description: "Writes a value.",
  input_schema: z.object({ key: z.string(), value: z.any(), ticks: z.number().default(0) }),
  persistence: "execution",
  handler: async (state, { key, value, ticks }) => {
    for (let tick = 0; tick < ticks; tick += 1) await new Promise(setImmediate);
    const execution = { ...(state.execution as Record<string, unknown>), [key]: value as unknown };
    return { newState: { ...state, execution }, toolResult: value as unknown };
  },
});

/** Puts an item at the end of a list of the execution state. */
const push = defineTool({
  name: "push",
  description: "Adds an item.",
  input_schema: z.object({ item: z.string(), ticks: z.number().default(0) }),
  persistence: "execution",
  handler: async (state, { item, ticks }) => {
    for (let tick = 0; tick < ticks; tick += 1) await new Promise(setImmediate);
    const { list = [] } = state.execution as { list?: readonly string[] };
    const execution = { ...(state.execution as object), list: [...list, item] };
    return { newState: { ...state, execution }, toolResult: item };
  },
});

const call = (tool: string, args: object) => ({ tool, args: args as Record<string, unknown> });

/** `start`, then all of `nodes` beside each other, then `join`. */
function fan(nodes: Workflow["nodes"], more: Partial<AgentSpecInput> = {}) {
  return defineAgent({
    name: "fan",
    output_schema: z.object({}),
    tools: [echo, add, set, push],
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
        'Nodes "left" and "right" ran at the same time, and tools of both changed execution.sum to different values: one change is lost. Name a merge for execution.sum in state_config.merge, let one node follow the other, or let them change different keys.',
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

describe("a key that branches beside each other write", () => {
  const run = async (agent: ReturnType<typeof fan>) => {
    const { runtime } = await testRuntime([]);
    const { status, state, failure, steps } = await executeAgent(
      agent,
      { message: "" },
      { runtime },
    );
    return { status, execution: state.execution, failure, steps };
  };
  const tool = (name: string, of: string, args: object) => {
    return { name, type: "tool" as const, config: call(of, args) };
  };

  it("is no conflict when all give it an equal value, and one when a third gives another", async () => {
    const value = { found: [1, { deep: true }] };
    const equal = [
      tool("left", "set", { key: "k", value }),
      tool("right", "set", { key: "k", value: { found: [1, { deep: true }] } }),
    ];
    const done = await run(fan(equal));
    expect([done.status, done.execution]).toEqual(["COMPLETED", { k: value }]);
    const { failure } = await run(fan([...equal, tool("third", "set", { key: "k", value: 1 })]));
    expect(failure?.cause).toBe("tier_conflict");
  });

  it("has the sum of what each added to what was there, and the largest of maxima", async () => {
    const agent = fan(
      [
        tool("a", "add", { n: 5 }),
        tool("b", "add", { n: 7 }),
        tool("c", "set", { key: "best", value: 4 }),
        tool("d", "set", { key: "best", value: 3 }),
      ],
      {
        state_config: { merge: { "execution.sum": "sum", "execution.best": "max" } },
        initialExecutionState: () => ({ sum: 0.1 }),
      } as never,
    );
    expect(await run(agent)).toMatchObject({
      status: "COMPLETED",
      execution: { sum: 12.1, best: 4 },
    });
  });

  it("is appended to, and ends as the last branch left it, in the order of the definition", async () => {
    // Neither the alphabet nor who ends first says who comes first.
    const agent = fan(
      [
        tool("z", "push", { item: "z", ticks: 20 }),
        tool("m", "push", { item: "m", ticks: 10 }),
        tool("a", "push", { item: "a" }),
        tool("y", "set", { key: "end", value: "y", ticks: 20 }),
        tool("b", "set", { key: "end", value: "b" }),
      ],
      { state_config: { merge: { "execution.list": "append", "execution.end": "last" } } },
    );
    expect((await run(agent)).execution).toEqual({ list: ["z", "m", "a"], end: "b" });
  });

  it("keeps the order of branches that are longer than others, and of branches within branches", async () => {
    const nodes = [
      tool("start", "push", { item: "start" }),
      tool("long", "echo", { text: "" }),
      tool("one", "push", { item: "one" }),
      tool("two", "push", { item: "two" }),
      tool("inner", "push", { item: "inner" }),
      tool("short", "push", { item: "short" }),
      tool("join", "push", { item: "join" }),
    ];
    const agent = fan([], {
      tools: [echo, push],
      state_config: { merge: { "execution.list": "append" } },
      workflow_graph: {
        entry_point: "start",
        nodes,
        edges: [
          { from: "start", to: ["long", "short"] },
          { from: "long", to: ["one", "two"] },
          { from: "one", to: "inner" },
          { from: "inner", to: "join" },
          { from: "two", to: "join" },
          { from: "short", to: "join" },
          { from: "join", to: "END" },
        ],
        output: {},
      },
    } as never);
    expect((await run(agent)).execution).toEqual({
      list: ["start", "one", "inner", "two", "short", "join"],
    });
  });

  it("takes what nodes write as well, also one after the other", async () => {
    const writes = (name: string, text: string) => ({
      ...tool(name, "echo", { text }),
      config: { ...call("echo", { text }), writes: "execution.said" },
    });
    const agent = fan([writes("z", "1"), writes("b", "2")], {
      state_config: { merge: { "execution.said": "append" } },
    });
    expect((await run(agent)).execution).toEqual({ said: ["echo 1", "echo 2"] });
  });

  it("refuses what its merge cannot take, by the tool or node and the key", async () => {
    const merge = { state_config: { merge: { "execution.sum": "sum" } } } as const;
    const left = tool("left", "set", { key: "sum", value: "much" });
    const { status, steps } = await run(fan([left], merge));
    expect([status, steps[1]?.tool_results[0]?.error]).toEqual([
      "FAILED",
      'Tool "set" wrote execution.sum, whose merge is sum: expected a number, got a text. The state stays as it was.',
    ]);
    const node = fan(
      [
        {
          name: "left",
          type: "tool",
          config: { ...call("echo", { text: "" }), writes: "execution.sum" },
        },
      ],
      merge,
    );
    expect((await run(node)).failure).toEqual({
      cause: "tier_merge",
      message:
        'Node "left" wrote execution.sum, whose merge is sum: expected a number, got a text. The state stays as it was.',
    });
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
      'Node "ask" was rejected without a reason. It is not tried again: node "draft" has run 2 times, as often as execution_config.max_iterations allows.',
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
