import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { describe, expect, it } from "vitest";
import { defineAgent, defineTool, executeAgent, type AgentDefinition } from "../../src/index.ts";
import { synthesisRequest } from "../../src/context/prompts.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";

const pages = defineTool({
  name: "read",
  description: "Reads a page.",
  input_schema: z.object({ page: z.number() }),
  handler: ({ page }) => `page ${page}: ${"lorem ipsum dolor ".repeat(200)}THE SECRET OF ${page}.`,
});
const read = (page: number) => ({ calls: [{ name: "read", args: { page } }] });
const common = {
  tools: [pages],
  context_config: { whole_results: "last_step" },
  execution_config: { max_attempts: 1 },
} as const;
const loop = defineAgent({ name: "loop", ...common });
const deep = defineAgent({
  name: "deep",
  ...common,
  execution_config: { max_attempts: 1, mode: "deep" },
});
const short = defineAgent({
  name: "short",
  ...common,
  execution_config: { max_attempts: 1, max_iterations: 2 },
});
const nodes = defineAgent({
  name: "nodes",
  ...common,
  execution_config: { max_attempts: 1, max_iterations: 5 },
  workflow_graph: {
    entry_point: "search",
    nodes: [
      { name: "search", type: "llm", config: { prompt: "Answer: ${input.message}" } },
      { name: "run", type: "tool", config: {} },
    ],
    edges: [
      { from: "search", to: "run", condition: "size(last.tool_calls) > 0" },
      { from: "search", to: "END" },
      { from: "run", to: "search" },
    ],
  },
});
const threadId = "t";
const script = [read(1), read(2), "From previews.", "From all."];

const plain = (messages: readonly BaseMessage[] | undefined) =>
  messages?.map((message) => {
    const { tool_calls = [] } = message as { tool_calls?: unknown };
    return { role: message.getType(), content: message.content, tool_calls };
  });

async function ran(definition: AgentDefinition, said: readonly ScriptedReply[], native = true) {
  const { runtime, model } = await testRuntime(said, { toolCalling: native });
  await executeAgent(definition, { message: "go" }, { runtime, threadId });
  const look = (of: object) => runtime.threads.context({ threadId, definition, ...of });
  /** What is looked at is what was sent, tools included. */
  const expectSent = async (of: object, call: number, goals: readonly string[]) => {
    const context = await look(of);
    const request = model.requests[call];
    expect(plain(context.messages)).toEqual(plain(request?.messages));
    expect(context.tools.map(({ name }) => name)).toEqual(
      native ? (request?.tools ?? []).map(({ name }) => name) : [],
    );
    expect(context.goals).toEqual(goals);
    return context;
  };
  return { look, expectSent, model, runtime };
}

describe("a step whose answer was written once more, looked at", () => {
  const both = ["planning", "synthesis"];

  it.each([
    ["in the standard loop", loop],
    ["at an llm node", nodes],
  ])("has two requests, each shown as it was sent, %s", async (_where, definition) => {
    const { expectSent, model } = await ran(definition, script);
    const planning = await expectSent({ step: 2 }, 2, both);
    expect(planning.metadata.goal).toBe("planning");
    await expectSent({ step: 2, goal: "planning" }, 2, both);
    const answer = await expectSent({ step: 2, goal: "synthesis" }, 3, both);
    expect(answer.metadata.goal).toBe("synthesis");
    expect(answer.messages.at(-1)?.text).toContain(synthesisRequest);
    expect([planning.step, answer.step, answer.asksBefore]).toEqual([2, 2, 0]);
    expect(model.requests).toHaveLength(4);
  });

  it("is shown after its plan in deep mode", async () => {
    const reflection = '{"reflection":"good","progress":"advancing"}';
    const { expectSent } = await ran(deep, [
      "Step by step.",
      "Read 1.",
      read(1),
      reflection,
      "Read 2.",
      read(2),
      reflection,
      "Answer.",
      "From previews.",
      "From all.",
      '{"accepted":true,"reasons":[]}',
    ]);
    expect((await expectSent({ step: 2 }, 8, both)).asksBefore).toBe(1);
    expect((await expectSent({ step: 2, goal: "synthesis" }, 9, both)).asksBefore).toBe(1);
    expect((await expectSent({ step: 1 }, 5, ["planning"])).asksBefore).toBe(1);
  });

  it("is shown in the text form", async () => {
    const act = (page: number) => `Thought: on\nAction: read\nAction Input: {"page": ${page}}`;
    const answer = (text: string) => `Thought: done\nFinal Answer: ${text}`;
    const said = [act(1), act(2), answer("From previews."), answer("From all.")];
    const { expectSent } = await ran(loop, said, false);
    await expectSent({ step: 2 }, 2, both);
    const written = await expectSent({ step: 2, goal: "synthesis" }, 3, both);
    expect(written.messages.at(-1)?.text).toContain(synthesisRequest);
  });
});

describe("a step that made one request, looked at", () => {
  it("has one where it made a call from previews, or nothing was shortened", async () => {
    const { expectSent, look } = await ran(loop, [read(1), read(2), read(3), ...script.slice(2)]);
    await expectSent({ step: 1 }, 1, ["planning"]);
    await expectSent({ step: 2 }, 2, ["planning"]);
    const supposed = await look({ step: 1, goal: "synthesis" });
    expect(supposed).toMatchObject({ goals: ["planning"], tools: [] });
    expect(supposed.metadata.goal).toBe("synthesis");
    expect(plain(supposed.messages)?.map(({ role }) => role)).not.toContain("tool");
    expect(supposed.messages.at(-1)?.text).toBe(synthesisRequest);
  });

  it("has one for the answer where no steps were left", async () => {
    const { expectSent, look } = await ran(short, [read(1), read(2), "From all."]);
    await expectSent({ step: 2 }, 2, ["synthesis"]);
    await expectSent({ step: 2, goal: "synthesis" }, 2, ["synthesis"]);
    const planned = await look({ step: 2, goal: "planning" });
    expect([planned.metadata.goal, planned.goals]).toEqual(["planning", ["synthesis"]]);
  });
});

describe("a step to come", () => {
  it("has a second request where its answer would be written once more", async () => {
    const stop = new AbortController();
    const { runtime, model } = await testRuntime([
      read(1),
      read(2),
      (_request, config) =>
        new Promise((_resolve, reject) => {
          config.signal?.addEventListener("abort", () => reject(new Error("stopped")));
          stop.abort();
        }),
      "From previews.",
      "From all.",
    ]);
    const on = { runtime, threadId };
    await executeAgent(loop, { message: "go" }, { ...on, signal: stop.signal });
    const next = { threadId, definition: loop };
    const planning = await runtime.threads.context(next);
    const answer = await runtime.threads.context({ ...next, goal: "synthesis" });
    await executeAgent(loop, null, on);
    expect([planning.tense, planning.goals]).toEqual(["next", ["planning", "synthesis"]]);
    expect(plain(planning.messages)).toEqual(plain(model.requests[3]?.messages));
    expect(plain(answer.messages)).toEqual(plain(model.requests[4]?.messages));
    expect(answer.tools).toEqual([]);
  });
});
