import { getEventListeners } from "node:events";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { createModels } from "../../src/models/create-models.ts";
import { OllamaConnection } from "../../src/models/providers/ollama-connection.ts";
import { ollama } from "../../src/models/providers/ollama.ts";
import { readStructured } from "../../src/models/replies/json-answer.ts";
import { normaliseStream } from "../../src/models/replies/reply-stream.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { ollamaServer, Silence } from "../helpers/ollama-server.ts";
import { look, lookOnWire, messages, modelOn } from "./ollama-model.ts";
import { streamed } from "./openai-model.ts";

const weather = { city: "Bern", days: 2 };
const schema = { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] };
const answer = { name: "judge", description: "Judges.", schema };

describe("a model behind Ollama's protocol", () => {
  it("answers, and is counted", async () => {
    await using server = await ollamaServer(["Good day to you."]);
    const reply = await (await modelOn(server)).call({ messages }, {});
    expect(reply).toMatchObject({
      model: "ollama:llama3.2",
      usage: { tokens_in: 26, tokens_out: 3, llm_calls: 1, cost_usd: 0 },
      message: { response_metadata: { done_reason: "stop", model_provider: "ollama" } },
    });
    expect(reply.message.text).toBe("Good day to you.");
  });

  it("is counted while its tokens are streamed", async () => {
    await using server = await ollamaServer(["Good day."]);
    const { tokens, reply } = await streamed(await modelOn(server));
    expect(tokens).toEqual(["Good", " day."]);
    expect(reply).toMatchObject({ usage: { tokens_in: 26, tokens_out: 3, llm_calls: 1 } });
  });

  it("counts tokens itself where the server gives none", async () => {
    await using server = await ollamaServer([{ text: "Hi", usage: null }]);
    const { usage } = await (await modelOn(server)).call({ messages }, {});
    expect(usage).toMatchObject({ tokens_in: 5, tokens_out: 5 });
  });

  it("says that a reply is cut off", async () => {
    await using server = await ollamaServer([{ text: "It is", done_reason: "length" }]);
    const { message } = await (await modelOn(server)).call({ messages }, {});
    expect(message.response_metadata).toMatchObject({ done_reason: "length" });
  });

  it("makes a value's schema the form of the text, since Ollama forces no tool", async () => {
    await using server = await ollamaServer(['{"ok": true}']);
    const model = await modelOn(server, { default_model: "ollama:llama3:latest" });
    const { message } = await model.call({ messages, answer }, {});
    expect(server.chats[0]?.format).toEqual(schema);
    expect(server.chats[0]).not.toHaveProperty("tools");
    expect(readStructured(message, answer)).toEqual({ ok: true, value: { ok: true } });
  });

  it("calls tools, several in one reply, also as a stream", async () => {
    const calls = [
      { name: "look", args: weather },
      { name: "look", args: {} },
    ];
    await using server = await ollamaServer(() => ({ text: "Let me see.", calls }));
    const model = await modelOn(server);
    const { message } = await model.call({ messages, tools: [look] }, {});
    expect(message.tool_calls).toMatchObject(calls);
    expect(message.text).toBe("Let me see.");
    expect(new Set(message.tool_calls?.map(({ id }) => id)).size).toBe(2);
    const { reply } = await streamed(model, [look]);
    expect((reply as { message: AIMessage }).message.tool_calls).toMatchObject(calls);
    expect(server.chats.map(({ tools }) => tools)).toEqual([[lookOnWire], [lookOnWire]]);
  });

  it("calls tools where its reply is told as events", async () => {
    const calls = [
      { name: "look", args: weather },
      { name: "look", args: {} },
    ];
    await using server = await ollamaServer([{ thinking: "Hm.", text: "Let me see.", calls }]);
    const chat = normaliseStream(await chatOn(server.url));
    const message = await chat.streamEvents("Hello");
    expect(message.tool_calls).toMatchObject(calls);
    expect(message.text).toBe("Let me see.");
    expect(message.usage_metadata).toMatchObject({ input_tokens: 26, output_tokens: 3 });
  });

  it("reads calls and results back", async () => {
    await using server = await ollamaServer(["Sunny."]);
    const called = new AIMessage({
      content: "",
      tool_calls: [{ id: "1", name: "look", args: weather }],
    });
    const result = new ToolMessage({ tool_call_id: "1", name: "look", content: "sun" });
    await (await modelOn(server)).call({ messages: [...messages, called, result] }, {});
    expect(server.chats[0]?.messages).toMatchObject([
      { role: "user", content: "Hello" },
      { role: "assistant", tool_calls: [{ function: { name: "look", arguments: weather } }] },
      { role: "tool", content: "sun" },
    ]);
  });

  it("thinks beside its reply, not in it", async () => {
    await using server = await ollamaServer(() => ({ thinking: "Let me think.", text: "Yes." }));
    const model = await modelOn(server, { default_model: "ollama:qwen3" });
    const { message } = await model.call({ messages }, {});
    expect(message.text).toBe("Yes.");
    expect(message.additional_kwargs).toEqual({ reasoning_content: "Let me think." });
    const { tokens, reply } = await streamed(model);
    expect(tokens).toEqual(["Yes."]);
    expect((reply as { message: AIMessage }).message.text).toBe("Yes.");
  });

  it("leaves an empty reply to the caller", async () => {
    await using server = await ollamaServer([""]);
    const { message } = await (await modelOn(server)).call({ messages }, {});
    expect(message.text).toBe("");
  });

  it("lets the server know when the signal aborts before the first word", async () => {
    const silent = new Silence();
    await using server = await ollamaServer([{ silent }]);
    const controller = new AbortController();
    const reason = new Error("Cancelled.");
    const call = (await modelOn(server)).call({ messages }, { signal: controller.signal });
    await silent.asked;
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    await silent.aborted;
  });

  it("lets the server know when nobody reads on", async () => {
    const silent = new Silence();
    await using server = await ollamaServer([{ half: "One two three four", end: silent }]);
    const chat = await chatOn(server.url);
    for await (const { text } of await chat.stream("Hello")) {
      expect(text).toBe("One");
      break;
    }
    await silent.aborted;
  });

  it("keeps nothing of itself at a signal that lasts for many calls", async () => {
    await using server = await ollamaServer(() => "Hi");
    const { signal } = new AbortController();
    const connection = new OllamaConnection({
      url: server.url,
      headers: {},
      clock: new ManualClock(),
    });
    const request = { model: "llama3.2", messages: [{ role: "user", content: "Hello" }] };
    const kept: number[] = [];
    for await (const _ of connection.chat(request, signal)) {
      kept.push(getEventListeners(signal, "abort").length);
    }
    kept.push(getEventListeners(signal, "abort").length);
    expect(kept).toEqual([1, 1, 0]);
  });

  it("uses no socket twice, so that none is dead after a long pause", async () => {
    await using server = await ollamaServer(() => "Hi");
    const model = await modelOn(server);
    for (const _ of [1, 2]) await model.call({ messages }, {});
    expect(server.requests.map(({ headers }) => headers.connection)).toEqual(["close", "close"]);
  });
});

it("answers several calls at once", async () => {
  const silent = new Silence();
  await using server = await ollamaServer(({ messages: [first] }) =>
    first?.content === "Wait" ? { silent } : "Hi",
  );
  const models = createModels({ env: { OLLAMA_HOST: server.url }, clock: new ManualClock() });
  const model = await models.resolve({ default_model: "ollama:llama3.2" });
  const waiting = model.call({ messages: [new HumanMessage("Wait")] }, {});
  await silent.asked;
  expect((await model.call({ messages }, {})).message.text).toBe("Hi");
  silent.release("Now");
  expect((await waiting).message.text).toBe("Now");
});

function chatOn(url: string) {
  const env = { OLLAMA_HOST: url };
  return ollama.create({ model: "llama3.2", options: {}, env, clock: new ManualClock() });
}
