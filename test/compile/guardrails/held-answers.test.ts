import { AIMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
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
    expect(tokens + JSON.stringify(events)).not.toContain("damn");
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
