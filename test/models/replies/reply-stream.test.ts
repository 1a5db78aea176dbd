import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessageChunk, HumanMessage } from "@langchain/core/messages";
import type { ChatGenerationChunk } from "@langchain/core/outputs";
import { fakeModel } from "@langchain/core/testing";
import { describe, expect, it } from "vitest";
import type { ModelReply } from "../../../src/models/agent-model.ts";
import { normaliseStream } from "../../../src/models/replies/reply-stream.ts";
import { reasoningText } from "../../../src/models/replies/reasoning.ts";
import { type OpenAIAnswer, openAIServer } from "../../helpers/openai-server.ts";
import { type DialectName, dialects, wireServer } from "../../helpers/wire/server.ts";
import { calculator, modelOn } from "../openai-model.ts";
import { modelOn as modelOnWire } from "../wire/providers.ts";

const messages = [new HumanMessage("What is 6 * 7?")];

describe("the tokens of a stream", () => {
  it.each(Object.keys(dialects) as DialectName[])("of %s are never empty", async (provider) => {
    await using server = await wireServer({
      reasoning: { text: "I multiply." },
      text: "Let me see.",
      calls: [{ name: "calculator", args: { expression: "6 * 7" } }],
    });
    const model = await modelOnWire(provider, server);
    const { tokens } = await streamed(model);
    const hasContent = ({ text, message }: Token) =>
      text !== "" ||
      reasoningText(message) !== "" ||
      (message.tool_call_chunks ?? []).length > 0 ||
      message.usage_metadata !== undefined ||
      // Signatures and parts of arguments.
      (Array.isArray(message.content) && message.content.length > 0);
    expect(tokens.filter((token) => !hasContent(token))).toEqual([]);
    expect(tokens.map(({ text }) => text).join("")).toBe("Let me see.");
    expect(tokens.map(({ message }) => reasoningText(message)).join("")).toBe("I multiply.");
  });

  it.each([
    ["<think>", "6 * 7", "</think>", "\n\n", "42"],
    ["<thi", "nk>6 *", " 7</", "think>\n", "42"],
    ["<think>6 * 7</think>42"],
  ])("have thinking in tags apart from the text: %s", async (...parts) => {
    const { tokens, reply } = await fromServer(deltas(...parts.map((content) => ({ content }))));
    expect(tokens.map(({ text }) => text).join("")).toBe("42");
    expect(tokens.map(({ message }) => reasoningText(message)).join("")).toBe("6 * 7");
    expect(reply).toMatchObject({ message: { content: "42" }, reasoning: { text: "6 * 7" } });
  });

  it("have what looks like a tag at the end", async () => {
    const { tokens, reply } = await fromServer(deltas({ content: "<thin" }));
    expect(tokens.map(({ text }) => text)).toEqual(["<thin"]);
    expect(reply.message.text).toBe("<thin");
  });

  it("may mention tags after a section in tags", async () => {
    const parts = ["<think>a</think>", "Close it with </think>", " at the end."];
    const { reply } = await fromServer(deltas(...parts.map((content) => ({ content }))));
    expect(reply).toMatchObject({
      message: { text: "Close it with </think> at the end." },
      reasoning: { text: "a" },
    });
  });

  it("are none of a model that does not stream", () => {
    const chat = fakeModel();
    const streams = Reflect.get(chat, "_streamResponseChunks");
    const same = streams === Reflect.get(BaseChatModel.prototype, "_streamResponseChunks");
    normaliseStream(chat);
    expect(Object.hasOwn(chat, "_streamResponseChunks")).toBe(!same);
  });
});

describe("a server that is not quite like OpenAI's", () => {
  it.each([undefined, null, "", "model"])("may send the role %j", async (role) => {
    const { tokens, reply } = await fromServer(
      deltas({ ...(role !== undefined && { role }), content: "4" }, { content: "2" }),
    );
    expect(tokens.map(({ text }) => text)).toEqual(["4", "2"]);
    expect(reply.message.text).toBe("42");
  });

  it("may send text in parts", async () => {
    const { tokens, reply } = await fromServer(
      deltas(
        { content: [{ type: "thinking", thinking: [{ type: "text", text: "6 * 7" }] }] },
        {
          content: [
            { type: "text", text: "4" },
            { type: "text", text: "2" },
          ],
        },
        { content: { odd: true } },
      ),
    );
    expect(tokens.map(({ text }) => text).join("")).toBe("42");
    expect(reply).toMatchObject({ message: { content: "42" }, reasoning: { text: "6 * 7" } });
  });

  it("may name reasoning otherwise", async () => {
    const { reply } = await fromServer(deltas({ reasoning: "6 * 7" }, { content: "42" }));
    expect(reply.reasoning).toEqual({ text: "6 * 7" });
  });

  it("may send calls without an index", async () => {
    const call = (id: string | undefined, args: string) => ({
      tool_calls: [
        {
          ...(id !== undefined && { id, type: "function" }),
          function: { ...(id !== undefined && { name: "calculator" }), arguments: args },
        },
      ],
    });
    const { reply } = await fromServer(
      deltas(
        call("a", '{"expression":'),
        call(undefined, '"6 * 7"}'),
        call("b", '{"expression":"1 + '),
        call("b", '1"}'),
      ),
    );
    expect(reply.message.tool_calls).toMatchObject([
      { id: "a", name: "calculator", args: { expression: "6 * 7" } },
      { id: "b", name: "calculator", args: { expression: "1 + 1" } },
    ]);
  });

  it("may refuse to count the tokens of streams, and is asked once", async () => {
    const message = "Unrecognized request argument supplied: stream_options";
    await using server = await openAIServer(
      { status: 400, message },
      { text: "42" },
      { text: "43" },
    );
    const model = await modelOn(server);
    const first = await streamed(model);
    expect(first.reply).toMatchObject({ message: { text: "42" }, usage: { llm_calls: 1 } });
    expect(first.reply.usage.tokens_out).toBeGreaterThan(0);
    await streamed(model);
    expect(server.requests.map(({ body }) => body["stream_options"] !== undefined)).toEqual([
      true,
      false,
      false,
    ]);
  });
});

interface Token {
  readonly text: string;
  readonly message: AIMessageChunk;
}

async function fromServer(answer: OpenAIAnswer) {
  await using server = await openAIServer(answer);
  return await streamed(await modelOn(server));
}

async function streamed(model: Awaited<ReturnType<typeof modelOn>>) {
  const tokens: Token[] = [];
  const handleLLMNewToken = (
    _text: string,
    ...[, , , , fields]: readonly { readonly chunk?: unknown }[]
  ) => {
    const message = (fields?.chunk as ChatGenerationChunk | undefined)?.message;
    if (AIMessageChunk.isInstance(message)) tokens.push({ text: message.text, message });
  };
  const request = { messages, tools: [calculator] };
  const reply: ModelReply = await model.call(request, {
    callbacks: [{ handleLLMNewToken }] as never,
  });
  return { tokens, reply };
}

/** A stream of these deltas, as a server sends them. */
function deltas(...parts: readonly object[]): OpenAIAnswer {
  const chunk = (delta: object, finish_reason: string | null) =>
    `data: ${JSON.stringify({
      id: "chatcmpl-1",
      object: "chat.completion.chunk",
      model: "gpt-4o-mini",
      choices: [{ index: 0, delta, finish_reason }],
    })}\n\n`;
  const body = [...parts.map((delta) => chunk(delta, null)), chunk({}, "stop"), "data: [DONE]\n\n"];
  return { body: body.join(""), type: "text/event-stream" };
}
