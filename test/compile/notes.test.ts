import { AIMessage } from "@langchain/core/messages";
import { z } from "zod";
import { describe, expect, it } from "vitest";
import {
  compileAgent,
  compressActions,
  defineAgent,
  defineTool,
  executeAgent,
  toActionRecords,
} from "../../src/index.ts";
import { promptPrefix } from "../../src/compile/agent-setup.ts";
import { nativeNoteLineForm } from "../../src/context/note-lines.ts";
import { emptyReplyFeedback } from "../../src/context/prompts.ts";
import type { ModelTool } from "../../src/models/agent-model.ts";
import { toModelTool } from "../../src/tools/registry.ts";
import { testRuntime } from "../helpers/run-agent.ts";
import type { ScriptedReply } from "../helpers/scripted-model.ts";

const look = defineTool({
  name: "look",
  description: "Looks.",
  input_schema: z.object({ at: z.string() }),
  handler: ({ at }) => `nothing at ${at}`,
});
const agent = defineAgent({ name: "finder", tools: [look] });
const lookAt = (at: string) => ({ name: "look", args: { at } });
const note = (args: object) => ({ name: "note_step", args });

async function run(script: readonly ScriptedReply[], definition = agent) {
  const made = await testRuntime(script);
  const { runtime, onEvent } = made;
  const result = await executeAgent(definition, { message: "find" }, { runtime, onEvent });
  return { ...made, ...result };
}

describe("what a model notes beside its calls", () => {
  it("fills the compression fields without a call of its own", async () => {
    const { steps, usage, status } = await run([
      {
        text: "First a.",
        calls: [lookAt("a"), note({ hypothesis: { belief: "it is in a", test: "look" } })],
      },
      {
        calls: [
          note({
            results: [
              { call: "look", insights: "a is empty", learning: "skip a", relevance: "low" },
            ],
            synthesis: "one place less",
            progress: "advancing",
          }),
          lookAt("b"),
        ],
      },
      {
        text: "Nowhere.",
        calls: [note({ results: [{ call: "look", insights: "b is empty", relevance: "high" }] })],
      },
    ]);
    expect(status).toBe("COMPLETED");
    expect(usage).toMatchObject({ llm_calls: 3, tool_calls: 2 });
    expect(steps[0]?.hypothesis).toEqual({ belief: "it is in a", test: "look" });
    expect(steps[1]).toMatchObject({ synthesis: "one place less", progress: "advancing" });
    expect(steps[1]?.tool_predictions.map(({ name }) => name)).toEqual(["look"]);
    expect(steps[0]).not.toHaveProperty("observations");
    expect(steps[2]?.next_action).toBe("finish");
    const records = toActionRecords(steps);
    expect(records[0]?.tool_calls[0]).toMatchObject({
      insights: "a is empty",
      learning: "skip a",
      relevance: "low",
    });
    expect(compressActions(records)).toEqual(["b is empty"]);
  });

  it("is never shown as a call", async () => {
    const { events, runtime, model } = await testRuntime([
      { calls: [note({ progress: "advancing" }), lookAt("a")] },
      { text: "Nowhere.", calls: [note({ progress: "advancing" })] },
    ]);
    const graph = await compileAgent(agent, runtime);
    const config = { configurable: { thread_id: "t" } };
    const { messages } = await graph.invoke({ input: { message: "find" } }, config);
    const calls = messages.flatMap((message) =>
      AIMessage.isInstance(message) ? (message.tool_calls ?? []) : [],
    );
    expect(calls.map(({ name }) => name)).toEqual(["look"]);
    expect(messages.map((message) => message.type)).toEqual(["human", "ai", "tool", "ai"]);
    expect(JSON.stringify(messages)).not.toContain("note_step");
    expect(JSON.stringify(events)).not.toContain("note_step");
    expect(JSON.stringify(model.requests[1]?.messages)).not.toContain("note_step");
  });

  it("is offered in one array for all steps", async () => {
    const { model } = await run([{ calls: [lookAt("a")] }, { calls: [lookAt("b")] }, "Nowhere."]);
    const [first, ...others] = model.requests.map(({ tools }) => tools);
    expect(first?.map(({ name }) => name)).toEqual(["look", "note_step"]);
    for (const tools of others) expect(tools).toBe(first);
  });

  it("leaves an empty reply empty when it stands alone", async () => {
    const { steps, model } = await run([
      { calls: [note({ synthesis: "thinking", progress: "stuck" })] },
      "Nowhere.",
    ]);
    expect(steps[0]).toMatchObject({
      next_action: "continue",
      progress: "stuck",
      synthesis: "thinking",
      tool_predictions: [],
    });
    expect(model.read(1).at(-1)).toBe(`human: ${emptyReplyFeedback}`);
  });

  it("costs nothing when it cannot be read", async () => {
    const broken = new AIMessage({
      id: "m",
      content: "",
      tool_calls: [
        { id: "c1", name: "look", args: { at: "a" } },
        { id: "c2", name: "note_step", args: { results: "none", progress: 7, synthesis: "s" } },
      ],
      invalid_tool_calls: [{ id: "c3", name: "note_step", args: '{"progress": "adv' }],
    });
    const { steps, status } = await run([() => broken, "Nowhere."]);
    expect(status).toBe("COMPLETED");
    expect(steps[0]).toMatchObject({ synthesis: "s", progress: "", problem: "" });
    expect(steps[0]?.tool_results.map(({ id, outcome }) => [id, outcome])).toEqual([
      ["c1", "success"],
    ]);
  });

  it("is not shown where it was broken either", async () => {
    const broken = new AIMessage({
      id: "m",
      content: "",
      tool_calls: [{ id: "c1", name: "look", args: { at: "a" } }],
      invalid_tool_calls: [{ id: "c2", name: "note_step", args: "{" }],
    });
    const { runtime } = await testRuntime([() => broken, "Nowhere."]);
    const graph = await compileAgent(agent, runtime);
    const config = { configurable: { thread_id: "t" } };
    const { messages } = await graph.invoke({ input: { message: "find" } }, config);
    expect(messages[1]).toMatchObject({ id: "m", invalid_tool_calls: [] });
  });

  it("is a call like any other of an agent that has a tool of that name", async () => {
    const own = defineTool({
      name: "note_step",
      description: "Writes a note.",
      input_schema: z.object({ synthesis: z.string() }),
      handler: () => "written",
    });
    const { steps, model } = await run(
      [{ calls: [note({ synthesis: "s" })] }, "Done."],
      defineAgent({ name: "writer", tools: [own] }),
    );
    expect(model.requests[0]?.tools?.map(({ description }) => description)).toEqual([
      "Writes a note.",
    ]);
    expect(steps[0]).toMatchObject({ synthesis: "", tool_results: [{ result: "written" }] });
  });

  it("is not offered in deep mode", async () => {
    const deep = defineAgent({ name: "deep", tools: [look], execution_config: { mode: "deep" } });
    const { model } = await run(["approach", "plan", "Nowhere.", '{"accepted": true}'], deep);
    expect(model.requests[2]?.tools?.map(({ name }) => name)).toEqual(["look"]);
  });

  it("is read at an llm node", async () => {
    const flow = defineAgent({
      name: "flow",
      tools: [look],
      execution_config: { max_iterations: 5 },
      workflow_graph: {
        entry_point: "think",
        nodes: [
          { name: "think", type: "llm" },
          { name: "act", type: "tool" },
        ],
        edges: [
          { from: "think", to: "act", condition: "size(nodes.think.tool_calls) > 0" },
          { from: "think", to: "END" },
          { from: "act", to: "think" },
        ],
      },
    });
    const { steps, status } = await run(
      [
        { calls: [lookAt("a")] },
        { text: "Nowhere.", calls: [note({ results: [{ call: "look", insights: "empty" }] })] },
      ],
      flow,
    );
    expect(status).toBe("COMPLETED");
    const call = steps[0]?.tool_results[0]?.id;
    expect(steps[1]?.observations).toEqual([
      { id: call, insights: "empty", learning: "", relevance: "" },
    ]);
  });
});

describe("what a model notes that calls tools in text", () => {
  const notes = (progress: string) =>
    `Note: {"insights": "${progress} it is", "progress": "${progress}"}`;
  const script = [
    'Thought: First a.\nAction: look\nAction Input: {"at": "a"}',
    `Thought: Then b.\n${notes("advancing")}\nAction: look\nAction Input: {"at": "b"}`,
    `Thought: Done.\nFinal Answer: Nowhere.\n${notes("stuck")}`,
  ];
  const runInText = async (definition: typeof agent) => {
    const made = await testRuntime(script, { toolCalling: false });
    const { runtime, onEvent } = made;
    return {
      ...made,
      ...(await executeAgent(definition, { message: "find" }, { runtime, onEvent })),
    };
  };

  it("fills the compression fields, and is not in thoughts and answers", async () => {
    const { model, steps, output, events } = await runInText(agent);
    expect(output).toEqual({ message: "Nowhere." });
    expect(steps.map(({ thought, progress }) => [thought, progress])).toEqual([
      ["First a.", ""],
      ["Then b.", "advancing"],
      ["Done.", "stuck"],
    ]);
    const [first, second] = steps.map(({ tool_results: [result] }) => result?.id);
    expect(steps.map(({ observations = [] }) => observations.map(({ id }) => id))).toEqual([
      [],
      [first],
      [second],
    ]);
    expect(model.read(0)[0]).toContain("\n\nNote: {");
    expect(JSON.stringify([steps, events])).not.toContain("Note:");
  });

  it("is not asked for, nor read, in deep mode", async () => {
    const deep = defineAgent({ name: "deep", tools: [look], execution_config: { mode: "deep" } });
    const made = await testRuntime(Array(8).fill(script[2]), { toolCalling: false });
    const { steps } = await executeAgent(deep, { message: "find" }, { runtime: made.runtime });
    expect(made.model.read(0).join()).not.toContain("Note: {");
    expect(steps[0]?.thought).toBe("Done.");
  });
});

describe("what the prompt of a model that makes one call at a time says of notes", () => {
  const model = { ref: "ollama:qwen3", toolCalling: true, parallelCalls: false };
  const prompt = (of: { model?: object; mode?: "fast" | "deep"; tools?: readonly ModelTool[] }) => {
    const { mode = "fast", tools = [toModelTool(look)] } = of;
    const { spec } = defineAgent({ name: "a", system_prompt: "Be.", execution_config: { mode } });
    const prefix = promptPrefix(spec, { answerSchema: null, modelTools: tools });
    return prefix({ ...model, ...of.model }).map(({ text }) => text);
  };

  it("is one sentence and its form, with tools and not in deep mode", () => {
    expect(prompt({})).toEqual([`Be.\n\n${nativeNoteLineForm}`]);
    expect(prompt({ mode: "deep" })).toEqual(["Be."]);
    expect(prompt({ tools: [] })).toEqual(["Be."]);
    expect(prompt({ model: { parallelCalls: true } })).toEqual(["Be."]);
    expect(prompt({ model: { ref: "offline:rules" } })).toEqual(["Be."]);
  });
});
