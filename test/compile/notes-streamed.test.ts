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
import { fromChatModel } from "../../src/models/metered-model.ts";
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
  let state: { messages?: BaseMessage[] } = {};
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
