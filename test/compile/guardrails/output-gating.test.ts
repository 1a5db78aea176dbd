import { AIMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { END, MemorySaver, START, StateGraph, type StreamMode } from "@langchain/langgraph";
import { z } from "zod";
import { describe, expect, it } from "vitest";
import {
  compileAgent,
  defineAgent,
  defineTool,
  defineWorker,
  executeAgent,
  type AgentDefinition,
  type AgentEvent,
  type AgentGraph,
} from "../../../src/index.ts";
import { testRuntime } from "../../helpers/run-agent.ts";
import { wordRail } from "../../helpers/word-rail.ts";

type Script = Parameters<typeof testRuntime>[0];

/** Replies that stream their tokens, as providers do. */
const streamed = (script: Script): Script =>
  script.map((reply) =>
    typeof reply !== "string"
      ? reply
      : async ({ messages }, config) => {
          const model = new FakeListChatModel({ responses: [reply] });
          return new AIMessage((await model.invoke([...messages], config)).text);
        },
  );

const guarded = {
  rails: [wordRail("damn", "block", ["output"])],
  guardrail_config: { output_rails: [{ type: "custom" as const, name: "word" }] },
};

/** A workflow of one node. */
const oneNode = (node: object) =>
  ({
    workflow_graph: {
      entry_point: "do",
      nodes: [{ name: "do", ...node }],
      edges: [{ from: "do", to: "END" }],
    },
  }) as Pick<Parameters<typeof defineAgent>[0], "workflow_graph">;

async function told(agent: AgentDefinition, script: Script) {
  const { runtime } = await testRuntime(streamed(script));
  const tokens: string[] = [];
  const events: AgentEvent[] = [];
  const result = await executeAgent(
    agent,
    { message: "hello" },
    {
      runtime,
      onToken: (text) => tokens.push(text),
      onEvent: (event) => void events.push(event),
    },
  );
  return { result, events, tokens: tokens.join("") };
}

const ofType = <T extends AgentEvent["type"]>(events: readonly AgentEvent[], type: T) =>
  events.filter((event): event is AgentEvent & { type: T } => event.type === type);

const plan = JSON.stringify({ subtasks: [{ id: "a", description: "Note", worker: "note" }] });
const note = defineWorker({ name: "note", description: "Notes.", run: () => "damned notes" });

const inner = defineAgent({ name: "inner", description: "Answers." });
const withAgent = defineAgent({
  name: "outer",
  agents: [inner],
  ...guarded,
  ...oneNode({ type: "agent", config: { agent: "inner" } }),
});
const withPlanner = defineAgent({
  name: "planning",
  workers: [note],
  ...guarded,
  ...oneNode({ type: "planner", config: { workers: ["note"] } }),
});

describe("an answer that output rails have not accepted", () => {
  it("is told by no token and no event of the agent itself, and is kept in its records", async () => {
    const agent = defineAgent({ name: "plain", ...guarded });
    const { result, events, tokens } = await told(agent, ["damn it", "Certainly."]);
    expect(tokens).toBe("");
    expect(JSON.stringify(events)).not.toContain("damn");
    expect(result.steps.map(({ thought }) => thought)).toEqual(["damn it", "Certainly."]);
    expect(ofType(events, "step").map(({ step }) => step.thought)).toEqual(["", ""]);
  });

  it("is not told by a node of a workflow", async () => {
    const agent = defineAgent({
      name: "flow",
      ...guarded,
      ...oneNode({ type: "llm", config: { prompt: "Say it." } }),
    });
    const { result, events, tokens } = await told(agent, ["damn it", "Certainly."]);
    expect(result.output).toEqual({ message: "Certainly." });
    expect(tokens + JSON.stringify(events)).not.toContain("damn");
    expect(ofType(events, "node")[0]?.output).toMatchObject({ text: null, output: null });
  });

  it("is not told by an agent inside", async () => {
    const { result, events, tokens } = await told(withAgent, ["damn it", "Certainly."]);
    expect(result.output).toEqual({ message: "Certainly." });
    expect(tokens + JSON.stringify(events)).not.toContain("damn");
  });

  it("is not told by an agent within an agent inside", async () => {
    const middle = defineAgent({
      name: "middle",
      description: "Has it answered.",
      agents: [inner],
      ...oneNode({ type: "agent", config: { agent: "inner" } }),
    });
    const outer = defineAgent({
      name: "outer",
      agents: [middle],
      ...guarded,
      ...oneNode({ type: "agent", config: { agent: "middle" } }),
    });
    const { result, events, tokens } = await told(outer, ["damn it", "Certainly."]);
    expect(result.output).toEqual({ message: "Certainly." });
    expect(tokens + JSON.stringify(events)).not.toContain("damn");
  });

  it("is not told by a planner inside, nor is what its workers gave", async () => {
    const script = [plan, "damn it", '{"gaps":[]}', plan, "Certainly.", '{"gaps":[]}'];
    const { result, events, tokens } = await told(withPlanner, script);
    expect(result.output).toEqual({ message: "Certainly." });
    expect(tokens + JSON.stringify(events)).not.toContain("damn");
    expect(ofType(events, "synthesis").map(({ text }) => text)).toEqual(["", ""]);
    expect(ofType(events, "subtask_end").map(({ subtask }) => subtask.status)).toEqual([
      "done",
      "done",
    ]);
  });

  it("is in no message that LangGraph streams, of graphs named like their nodes too", async () => {
    const same = defineAgent({ name: "do", description: "Answers." });
    const outer = defineAgent({
      name: "outer",
      agents: [same],
      ...guarded,
      ...oneNode({ type: "agent", config: { agent: "do" } }),
    });
    const { runtime } = await testRuntime(streamed(["damn it", "Certainly."]));
    const graph = await compileAgent(outer, runtime);
    const stream = await graph.stream(
      { input: { message: "hello" } },
      {
        configurable: { thread_id: "t" },
        streamMode: ["messages", "custom"] as const,
        subgraphs: true,
      },
    );
    const chunks: unknown[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(JSON.stringify(chunks)).not.toContain("damn");
  });

  /** Every stream mode that LangGraph has: one that is added does not compile here. */
  const modes = Object.keys({
    values: true,
    updates: true,
    debug: true,
    messages: true,
    checkpoints: true,
    tasks: true,
    custom: true,
    tools: true,
  } satisfies Record<StreamMode, true>) as StreamMode[];
  const thread = { configurable: { thread_id: "t" } };
  const answering = ["damn it", "Certainly."];
  const planned = [plan, "damn it", '{"gaps":[]}', plan, "Certainly.", '{"gaps":[]}'];
  const writing = oneNode({ type: "llm", config: { prompt: "Say it.", writes: "execution.said" } });
  const ownRails = defineAgent({ name: "own", description: "Answers.", ...guarded });
  const agents = {
    "an agent": [defineAgent({ name: "plain", ...guarded }), answering],
    "a workflow": [
      defineAgent({
        name: "flow",
        execution_schema: z.object({ said: z.string().optional() }),
        ...guarded,
        ...writing,
      }),
      answering,
    ],
    "an agent inside": [withAgent, answering],
    "an agent inside with rails of its own": [
      defineAgent({
        name: "outer",
        agents: [ownRails],
        ...oneNode({ type: "agent", config: { agent: "own" } }),
      }),
      answering,
    ],
    "a planner inside": [withPlanner, planned],
  } as unknown as Record<string, readonly [AgentDefinition, readonly string[]]>;

  /** Everything that `read` streams of a run, and the state that is stored at its end. */
  async function streamedBy(
    [agent, script]: readonly [AgentDefinition, readonly string[]],
    read: (graph: AgentGraph) => Promise<AsyncIterable<unknown>> | AsyncIterable<unknown>,
  ) {
    const { runtime } = await testRuntime(streamed(script));
    const graph = await compileAgent(agent, runtime);
    const chunks: unknown[] = [];
    for await (const chunk of await read(graph)) {
      chunks.push(chunk instanceof Uint8Array ? new TextDecoder().decode(chunk) : chunk);
    }
    const { values } = await graph.getState(thread);
    return { text: JSON.stringify(chunks), state: values as Record<string, unknown> };
  }

  describe.each(Object.entries(agents))("of %s", (_name, agent) => {
    it.each(modes)("is in no chunk of the stream mode %s", async (streamMode) => {
      for (const subgraphs of [false, true]) {
        const options = { ...thread, streamMode, subgraphs };
        const { text, state } = await streamedBy(agent, (graph) =>
          graph.stream({ input: { message: "hello" } }, options),
        );
        expect(text).not.toContain("damn");
        expect(state["output"]).toEqual({ message: "Certainly." });
        expect(text.includes("Certainly.") || streamMode !== "values").toBe(true);
      }
    });

    it("is in no chunk although a client of a server asks for the whole state", async () => {
      const configurable = { ...thread.configurable, __stratagraph_whole_state: true };
      const options = { configurable, streamMode: modes, subgraphs: true };
      const { text } = await streamedBy(agent, (graph) =>
        graph.stream({ input: { message: "hello" } }, options),
      );
      expect(text).not.toContain("damn");
    });

    it("is in no chunk of all modes at once, as server-sent events too", async () => {
      for (const encoding of [undefined, "text/event-stream"] as const) {
        const options = { ...thread, streamMode: modes, subgraphs: true, encoding };
        const { text } = await streamedBy(agent, (graph) =>
          graph.stream({ input: { message: "hello" } }, options),
        );
        expect(text).not.toContain("damn");
        expect(text).toContain("Certainly.");
      }
    });

    it.each(["v1", "v2"] as const)("is in no event of streamEvents %s", async (version) => {
      const options = { ...thread, version, streamMode: modes, subgraphs: true };
      const { text } = await streamedBy(agent, (graph) =>
        graph.streamEvents({ input: { message: "hello" } }, options as never),
      );
      expect(text).not.toContain("damn");
      expect(text).toContain("Certainly.");
    });

    it("is in no event of streamEvents v3", async () => {
      const { text } = await streamedBy(agent, (graph) =>
        graph.streamEvents({ input: { message: "hello" } }, { ...thread, version: "v3" } as never),
      );
      expect(text).not.toContain("damn");
      expect(text).toContain("Certainly.");
    });

    it("is in no chunk of a graph around it that is not ours", async () => {
      const { runtime } = await testRuntime(streamed(agent[1]));
      const graph = await compileAgent(agent[0], runtime);
      const around = new StateGraph(z.object({ input: z.any(), output: z.any() }))
        .addNode("agent", graph)
        .addEdge(START, "agent")
        .addEdge("agent", END)
        .compile({ checkpointer: new MemorySaver() });
      const chunks: unknown[] = [];
      const options = { ...thread, streamMode: modes, subgraphs: true };
      for await (const chunk of await around.stream({ input: { message: "hello" } }, options)) {
        chunks.push(chunk);
      }
      expect(JSON.stringify(chunks)).not.toContain("damn");
      expect(JSON.stringify(chunks)).toContain("Certainly.");
    });
  });

  it("is in what invoke returns, and in what is stored", async () => {
    const { runtime } = await testRuntime(streamed(answering));
    const graph = await compileAgent(withAgent, runtime);
    const returned = await graph.invoke({ input: { message: "hello" } }, thread);
    expect(JSON.stringify(returned.nodes)).not.toContain("damn");
    const plain = await compileAgent(
      defineAgent({ name: "plain", ...guarded }),
      (await testRuntime(streamed(answering))).runtime,
    );
    const { steps } = await plain.invoke({ input: { message: "hello" } }, thread);
    expect(steps.map(({ thought }) => thought)).toEqual(["damn it", "Certainly."]);
  });

  it("is not told where its own agent refuses it before rails look at it", async () => {
    const agent = defineAgent({
      name: "checked",
      ...guarded,
      validate: (output) => (JSON.stringify(output).includes("damn") ? "too rude" : undefined),
    });
    const { result, events } = await told(agent, ["damn it", "Certainly."]);
    expect(JSON.stringify(events)).not.toContain("damn");
    expect(ofType(events, "attempt_failed")).toMatchObject([
      { attempt: { errors: ["too rude"], answer: null } },
    ]);
    expect(result.steps[0]).toMatchObject({ thought: "damn it" });
  });
});

describe("an answer that output rails have accepted", () => {
  it("comes as the message and the end of the outermost agent that has them", async () => {
    const { events } = await told(withAgent, ["Certainly."]);
    const ends = [...ofType(events, "message"), ...ofType(events, "done")];
    expect(
      ends.map((event) => [event.type, event.within, "text" in event ? event.text : event.output]),
    ).toEqual([
      ["message", [], "Certainly."],
      ["done", ["do"], null],
      ["done", [], { message: "Certainly." }],
    ]);
  });

  it("comes from an agent inside that has rails of its own, where none around it has", async () => {
    const own = defineAgent({ name: "own", description: "Answers.", ...guarded });
    const outer = defineAgent({
      name: "outer",
      agents: [own],
      ...oneNode({ type: "agent", config: { agent: "own" } }),
    });
    const { events } = await told(outer, ["damn it", "Certainly."]);
    expect(JSON.stringify(events)).not.toContain("damn");
    expect(ofType(events, "message").map(({ text, within }) => [text, within])).toEqual([
      ["Certainly.", ["do"]],
      ["Certainly.", []],
    ]);
  });
});

it("leaves thoughts on the way to an answer, and results of tools, as they are", async () => {
  const script = [
    { text: "I look it up.", calls: [{ name: "look", args: {} }] },
    "Certainly.",
  ] as Script;
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input_schema: z.object({}),
    handler: () => "found",
  });
  const looking = defineAgent({ name: "looking", description: "Looks.", tools: [look] });
  const outer = defineAgent({
    name: "outer",
    agents: [looking],
    ...guarded,
    ...oneNode({ type: "agent", config: { agent: "looking" } }),
  });
  const { events } = await told(outer, script);
  expect(ofType(events, "thought").map(({ text }) => text)).toEqual(["I look it up."]);
  expect(ofType(events, "tool_result").map(({ result }) => result.result)).toEqual(["found"]);
  expect(ofType(events, "step").map(({ step }) => step.thought)).toEqual(["I look it up.", ""]);
});
