import { AIMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { compileAgent, defineAgent, defineTool, executeAgent } from "../../src/index.ts";
import { single } from "../helpers/nested-agents.ts";
import { repliesByPrompt } from "../helpers/prompt-replies.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import { noUsage } from "../../src/state/usage.ts";

const echo = defineTool({
  name: "echo",
  description: "Gives back what it is given.",
  input_schema: z.object({ text: z.string() }),
  handler: ({ text }) => `echo ${text}`,
});

/** Answers `{ summary }` about `{ topic }`, with a tool and state of its own. */
const researcher = defineAgent({
  name: "researcher",
  input_schema: z.object({ topic: z.string() }),
  output_schema: z.object({ summary: z.string() }),
  initialExecutionState: ({ topic }) => ({ about: topic }),
  tools: [echo],
});

const finding = { calls: [{ name: "echo", args: { text: "x" } }] };

/** `research` on the message, then `write`. */
function desk(config: object = {}, edges?: object[]) {
  return defineAgent({
    name: "desk",
    agents: [researcher],
    execution_config: { max_attempts: 1 },
    workflow_graph: {
      entry_point: "research",
      nodes: [
        {
          name: "research",
          type: "agent",
          config: {
            agent: "researcher",
            input: { topic: "${input.message}" },
            writes: "execution.research",
            ...config,
          },
        },
        { name: "write", type: "llm", config: { prompt: "Write: ${nodes.research.status}" } },
      ],
      edges: [
        ...(edges ?? [{ from: "research", to: "write" }]),
        { from: "write", to: "END" },
      ] as never,
    },
  });
}

const replies = {
  '{"topic":"bees"}': [finding, '{ "summary": "buzz" }'],
  "Write: ": "Bees buzz.",
} as const;

describe("an agent node", () => {
  it("gives its agent's output, and nothing else of it", async () => {
    const { runtime, model } = await testRuntime(repliesByPrompt(replies));
    const result = await executeAgent(desk(), { message: "bees" }, { runtime, threadId: "t" });
    expect(result).toMatchObject({ status: "COMPLETED", output: { message: "Bees buzz." } });
    expect(result.state.execution).toEqual({ research: { summary: "buzz" } });
    expect(result.steps.map(({ node }) => node)).toEqual(["write"]);
    const graph = await compileAgent(desk(), runtime);
    const { values } = await graph.getState({ configurable: { thread_id: "t" } });
    expect(values.nodes).toMatchObject({
      research: { status: "COMPLETED", output: { summary: "buzz" }, failure: null },
    });
    expect(values.messages.map((message: AIMessage) => message.text)).toEqual([
      "bees",
      "Bees buzz.",
    ]);
    expect(model.read(0)).toEqual([expect.stringContaining("system: "), 'human: {"topic":"bees"}']);
    expect(model.requests.map(({ tools = [] }) => tools.map(({ name }) => name))).toEqual([
      ["echo", "note_step"],
      ["echo", "note_step"],
      [],
    ]);
  });

  it("gives the turn's own input where it writes none", async () => {
    const { runtime, model } = await testRuntime(["one", "two"]);
    const agent = single({ agent: "writer" }, defineAgent({ name: "writer" }));
    const { output } = await executeAgent(agent, { message: "hello" }, { runtime });
    expect(output).toEqual({ message: "one" });
    expect(model.read(0)).toEqual(["human: hello"]);
  });

  it("ends the attempt with the node and the agent when the input does not fit", async () => {
    const { runtime, model } = await testRuntime([]);
    const { status, failure, attempts } = await executeAgent(
      desk({ input: { topic: "${size(input.message)}" } }),
      { message: "bees" },
      { runtime },
    );
    expect([status, failure?.cause]).toEqual(["FAILED", "attempts_exhausted"]);
    expect(attempts[0]?.errors).toEqual([
      'agent "researcher" of node "research" failed (invalid_input): The input does not fit agent "researcher": topic: Invalid input: expected string, received number.',
    ]);
    expect(model.requests).toHaveLength(0);
  });

  it("ends the attempt with the node, the agent and the cause when the agent fails", async () => {
    const { runtime } = await testRuntime([
      "no JSON",
      "nor this",
      "nor that",
      '{ "summary": "late" }',
      "Done.",
    ]);
    const agent = desk();
    const { status, attempts } = await executeAgent(agent, { message: "bees" }, { runtime });
    expect(status).toBe("FAILED");
    expect(attempts[0]?.errors[0]).toMatch(
      /^agent "researcher" of node "research" failed \(attempts_exhausted\): /,
    );
  });

  it.each(["status", "failure"])("leaves a failure to an edge that asks for %s", async (field) => {
    const condition = {
      status: 'nodes.research.status == "FAILED"',
      failure: "nodes.research.failure != null",
    };
    const edges = [
      { from: "research", to: "write", condition: condition[field as "status"] },
      { from: "research", to: "END" },
    ];
    const { runtime, model } = await testRuntime(["no JSON", "nor this", "nor that", "Sorry."]);
    const { status, output, state } = await executeAgent(
      desk({}, edges),
      { message: "bees" },
      { runtime },
    );
    expect([status, output, state.execution]).toEqual(["COMPLETED", { message: "Sorry." }, {}]);
    expect(model.read(3)).toEqual(["human: bees", "human: Write: FAILED"]);
  });

  it("runs afresh in the next attempt", async () => {
    const agent = single({ agent: "writer" }, defineAgent({ name: "writer" }), {
      execution_config: { max_attempts: 2 },
      validate: ({ message }: { message: string }) => (message === "good" ? [] : "not good"),
    });
    const { runtime, model } = await testRuntime(["bad", "good"]);
    const { output, attempts } = await executeAgent(agent, { message: "go" }, { runtime });
    expect([output, attempts.length]).toEqual([{ message: "good" }, 2]);
    expect(model.read(1)).toEqual(["human: go"]);
  });

  it("adds what its agent has spent to the turn", async () => {
    const { runtime } = await testRuntime(repliesByPrompt(replies));
    const { usage } = await executeAgent(desk(), { message: "bees" }, { runtime });
    expect(usage).toEqual({
      ...noUsage,
      tokens_in: 30,
      tokens_out: 15,
      llm_calls: 3,
      tool_calls: 1,
      cost_usd: expect.closeTo(0.003),
    });
  });

  it("shows the conversation where that is shared, with the input last, and takes nothing of it back", async () => {
    const agent = single(
      { agent: "writer", input: { message: "Sum up" }, conversation: "shared" },
      defineAgent({ name: "writer" }),
    );
    const { runtime, model } = await testRuntime(["first", "second"]);
    await executeAgent(agent, { message: "one" }, { runtime, threadId: "t" });
    await executeAgent(agent, { message: "two" }, { runtime, threadId: "t" });
    expect(model.read(1)).toEqual(["human: one", "ai: first", "human: two", "human: Sum up"]);
    const graph = await compileAgent(agent, runtime);
    const { values } = await graph.getState({ configurable: { thread_id: "t" } });
    expect(values.messages.map(({ text }: AIMessage) => text)).toEqual([
      "one",
      "first",
      "two",
      "second",
    ]);
  });

  it("says a shared input that is the person's own words once", async () => {
    const agent = single(
      { agent: "writer", conversation: "shared" },
      defineAgent({ name: "writer" }),
    );
    const { runtime, model } = await testRuntime(["first"]);
    await executeAgent(agent, { message: "one" }, { runtime });
    expect(model.read(0)).toEqual(["human: one"]);
  });

  it("runs one agent in parallel branches, each for itself", async () => {
    const { runtime } = await testRuntime(
      repliesByPrompt({ left: ["L"], right: ["R"], join: "joined" }),
    );
    const agent = defineAgent({
      name: "fan",
      agents: [defineAgent({ name: "writer" })],
      workflow_graph: {
        entry_point: "start",
        nodes: [
          { name: "start", type: "router", config: { rules: [{ when: "true", choice: "on" }] } },
          {
            name: "a",
            type: "agent",
            config: { agent: "writer", input: { message: "left" }, writes: "execution.a" },
          },
          {
            name: "b",
            type: "agent",
            config: { agent: "writer", input: { message: "right" }, writes: "execution.b" },
          },
          { name: "end", type: "llm", config: { prompt: "join" } },
        ],
        edges: [
          { from: "start", to: ["a", "b"] },
          { from: "a", to: "end" },
          { from: "b", to: "end" },
          { from: "end", to: "END" },
        ],
      },
    });
    const { status, state, usage } = await executeAgent(agent, { message: "go" }, { runtime });
    expect(status).toBe("COMPLETED");
    expect(state.execution).toEqual({ a: { message: "L" }, b: { message: "R" } });
    expect(usage.llm_calls).toBe(3);
  });

  it("runs afresh each time that a loop comes round", async () => {
    const { runtime, model } = await testRuntime(["a", "b", "c"]);
    const agent = defineAgent({
      name: "loop",
      agents: [defineAgent({ name: "writer", initialExecutionState: () => ({}) })],
      execution_config: { max_iterations: 5, max_attempts: 1 },
      workflow_graph: {
        entry_point: "again",
        nodes: [
          {
            name: "again",
            type: "agent",
            config: {
              agent: "writer",
              input: { message: "n${has(nodes.again) ? nodes.again.output.message : ''}" },
            },
          },
        ],
        edges: [
          { from: "again", to: "END", condition: 'nodes.again.output.message == "c"' },
          { from: "again", to: "again" },
        ],
      } as never,
    });
    const { output, usage } = await executeAgent(agent, { message: "go" }, { runtime });
    expect([output, usage.llm_calls]).toEqual([{ message: "c" }, 3]);
    expect([0, 1, 2].map((call) => model.read(call))).toEqual([
      ["human: n"],
      ["human: na"],
      ["human: nb"],
    ]);
  });
});
