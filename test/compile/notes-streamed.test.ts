import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { z } from "zod";
import { describe, expect, it } from "vitest";
import {
  compileAgent,
  createRuntime,
  defineAgent,
  defineTool,
  type Runtime,
} from "../../src/index.ts";
import type { AgentModel } from "../../src/models/agent-model.ts";
import { fromChatModel } from "../../src/models/calls/from-chat-model.ts";
import type { StepRecord } from "../../src/state/step-record.ts";
import { openAIServer } from "../helpers/openai-server.ts";

const ref = "openai:gpt-4o-mini";
const look = defineTool({
  name: "look",
  description: "Looks.",
  input_schema: z.object({ at: z.string() }),
  handler: ({ at }) => `nothing at ${at}`,
});
const lookAt = (at: string) => ({ name: "look", args: { at } });
const note = { name: "note_step", args: { synthesis: "one place less", progress: "advancing" } };
const noted = /note_step|one place less|synthesis|advancing/;

/** What LangGraph's `messages` stream brings of the model's replies, and what a tracer is told of them. */
async function streamed(runtime: Runtime) {
  const agent = defineAgent({ name: "finder", tools: [look], llm_config: { default_model: ref } });
  const graph = await compileAgent(agent, runtime);
  const messages: BaseMessage[] = [];
  const traced: unknown[] = [];
  let state: { messages?: BaseMessage[]; steps?: StepRecord[] } = {};
  const stream = await graph.stream(
    { input: { message: "find" } },
    {
      streamMode: ["messages", "values"],
      callbacks: [{ handleLLMEnd: (output: unknown) => void traced.push(output) }],
    },
  );
  for await (const [mode, chunk] of stream as AsyncIterable<[string, unknown]>) {
    if (mode === "values") state = chunk as typeof state;
    else messages.push((chunk as [BaseMessage])[0]);
  }
  return { messages, traced, state };
}

describe("notes in a reply", () => {
  it("are no part of LangGraph's messages stream, and the calls and words beside them are", async () => {
    await using server = await openAIServer(
      { text: "First I look at a.", calls: [note, lookAt("a"), note, lookAt("b")] },
      { text: "It is nowhere to be found.", calls: [note] },
    );
    const runtime = await createRuntime({
      checkpointer: false,
      env: { OPENAI_API_KEY: "sk-test-not-a-key", OPENAI_BASE_URL: server.url },
      modelOptions: { maxRetries: 0, parallelCalls: { [ref]: true } },
    });
    const { messages, traced, state } = await streamed(runtime);
    expect(server.requests[0]?.body).toMatchObject({ stream: true });
    expect(server.requests[0]?.body.tools).toHaveLength(2);
    expect(JSON.stringify(messages)).not.toMatch(noted);
    expect(JSON.stringify(state.messages)).not.toMatch(noted);
    expect(JSON.stringify(traced)).toMatch(noted);
    const parts = messages.filter((one) => AIMessageChunk.isInstance(one));
    const calling = parts
      .filter(({ tool_call_chunks: calls = [] }) => calls.length > 0)
      .reduce((sum, one) => sum.concat(one));
    expect(calling.tool_calls?.map(({ id, name, args }) => ({ id, name, args }))).toEqual([
      { id: "call_2", name: "look", args: { at: "a" } },
      { id: "call_4", name: "look", args: { at: "b" } },
    ]);
    const texts = parts.map(({ text }) => text).filter((text) => text !== "");
    expect(texts.join("")).toBe("First I look at a.It is nowhere to be found.");
    expect(texts.length).toBeGreaterThan(8);
  });

  it("are no part of it either where a reply comes whole, which comes once", async () => {
    const calls = [note, lookAt("a")].map((call, at) => ({ ...call, id: `c${at}` }));
    const chat = fakeModel()
      .respond(new AIMessage({ id: "m1", content: "I look.", tool_calls: calls }))
      .respond(new AIMessage({ id: "m2", content: "Nowhere.", tool_calls: calls.slice(0, 1) }));
    const model = fromChatModel(chat, { ref, parallelCalls: true });
    const runtime = await createRuntime({
      checkpointer: false,
      env: {},
      models: { resolve: async () => model },
    });
    const { messages, traced } = await streamed(runtime);
    expect(JSON.stringify(messages)).not.toMatch(noted);
    expect(JSON.stringify(traced)).toMatch(noted);
    const said = messages.filter(({ type }) => type === "ai") as AIMessage[];
    expect(said.map(({ id, text }) => [id, text])).toEqual([
      ["m1", "I look."],
      ["m2", "Nowhere."],
    ]);
    expect(said.map(({ tool_calls: made = [] }) => made.map(({ name }) => name))).toEqual([
      ["look"],
      [],
    ]);
  });
});

describe("note lines in a reply", () => {
  const line = 'Note: {"synthesis": "one place less", "progress": "advancing"}';
  const runtimeOf = (model: AgentModel) =>
    createRuntime({ checkpointer: false, env: {}, models: { resolve: async () => model } });

  it("are no part of the streamed or stored reply of a model that makes one call at a time", async () => {
    await using server = await openAIServer(
      { text: `First I look at a.\n${line}`, calls: [lookAt("a")] },
      { text: "Nothing there.\nNote: b is next.", calls: [lookAt("b")] },
      { text: `${line}\nIt is nowhere to be found.\nNote` },
    );
    const runtime = await createRuntime({
      checkpointer: false,
      env: { OPENAI_API_KEY: "sk-test-not-a-key", OPENAI_BASE_URL: server.url },
      modelOptions: { maxRetries: 0, parallelCalls: { [ref]: false } },
    });
    const { messages, traced, state } = await streamed(runtime);
    const [first, second] = server.requests;
    expect(first?.body.tools).toHaveLength(1);
    expect(JSON.stringify(first?.body.messages)).toContain("Note: {");
    expect(JSON.stringify(second?.body.messages.slice(1))).not.toMatch(noted);
    expect(JSON.stringify(messages)).not.toMatch(noted);
    expect(JSON.stringify(state.messages)).not.toMatch(noted);
    expect(JSON.stringify(traced)).toMatch(noted);
    const parts = messages.filter((one) => AIMessageChunk.isInstance(one));
    expect(parts.map(({ text }) => text).join("")).toBe(
      "First I look at a.\nNothing there.\nNote: b is next.It is nowhere to be found.\nNote",
    );
    expect(state.steps?.map(({ thought }) => thought)).toEqual([
      "First I look at a.",
      "Nothing there.\nNote: b is next.",
      "It is nowhere to be found.\nNote",
    ]);
    expect(state.steps?.map(({ synthesis }) => synthesis)).toEqual([
      "one place less",
      "",
      "one place less",
    ]);
  });

  it("are no part of the stream of a reply that comes whole, in blocks", async () => {
    const text = (of: string) => ({ type: "text" as const, text: of });
    const calls = [{ ...lookAt("a"), id: "c0" }];
    const chat = fakeModel()
      .respond(
        new AIMessage({
          id: "m1",
          content: [text(`${line}\nI `), text("look.\nNo")],
          tool_calls: calls,
        }),
      )
      .respond(new AIMessage({ id: "m2", content: `Nowhere.\n${line}` }));
    const { messages } = await streamed(await runtimeOf(fromChatModel(chat, { ref })));
    const said = messages.filter(({ type }) => type === "ai") as AIMessage[];
    expect(said.map(({ id, text: shown }) => [id, shown])).toEqual([
      ["m1", "I look.\nNo"],
      ["m2", "Nowhere.\n"],
    ]);
    expect(said[0]?.tool_calls?.map(({ name }) => name)).toEqual(["look"]);
  });

  it("are no part of the stream of a model that calls tools in text", async () => {
    const chat = fakeModel()
      .respond(new AIMessage(`Thought: First a.\n${line}\nAction: look\nAction Input: {"at": "a"}`))
      .respond(new AIMessage(`Thought: Done.\nFinal Answer: Nowhere.\n${line}`));
    const model = { ...fromChatModel(chat, { ref }), toolCalling: false };
    const { messages, state } = await streamed(await runtimeOf(model));
    expect(JSON.stringify([messages, state.messages])).not.toMatch(noted);
    expect(messages.map(({ text: shown }) => shown).join("")).toContain("Final Answer: Nowhere.");
  });
});
