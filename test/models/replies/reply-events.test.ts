import type { ChatModelStreamEvent } from "@langchain/core/language_models/event";
import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import type { AgentModel } from "../../../src/models/agent-model.ts";
import { openAIServer } from "../../helpers/openai-server.ts";
import { type DialectName, dialects, wireServer } from "../../helpers/wire/server.ts";
import { calculator, modelOn } from "../openai-model.ts";
import { modelOn as modelOnWire } from "../wire/providers.ts";

const request = { messages: [new HumanMessage("What is 6 * 7?")], tools: [calculator] };
const scripted = {
  reasoning: { text: "I multiply." },
  text: "Let me see.",
  calls: [
    { name: "calculator", args: { expression: "6 * 7" } },
    { name: "calculator", args: { expression: "1 + 1" } },
  ],
};

/** Asks under a callback that reads tokens, or events of content blocks as LangGraph's event streaming does. */
async function ask(model: AgentModel, reads: "tokens" | "events") {
  const events: ChatModelStreamEvent[] = [];
  const handler = {
    lc_prefer_streaming: reads === "tokens",
    lc_prefer_chat_model_stream_events: reads === "events",
    awaitHandlers: true,
    handleChatModelStreamEvent: (event: ChatModelStreamEvent) => void events.push(event),
  };
  const reply = await model.call(request, { callbacks: [handler] as never });
  return { reply, events };
}

describe("the events of a streamed reply", () => {
  it.each(Object.keys(dialects) as DialectName[])(
    "leave the reply of %s as it is",
    async (provider) => {
      await using server = await wireServer(scripted, scripted);
      const model = await modelOnWire(provider, server);
      const plain = await ask(model, "tokens");
      const { reply, events } = await ask(model, "events");
      expect(plain.events).toEqual([]);
      const told = ({ message, finish, reasoning, usage }: typeof reply) => {
        const { content, tool_calls: made = [], response_metadata: metadata } = message;
        const calls = made.map(({ name, args }) => ({ name, args }));
        return { finish, reasoning, usage, content, metadata, calls };
      };
      expect(told(reply)).toEqual(told(plain.reply));
      expect(told(reply).calls).toEqual(scripted.calls);
      const numbers = events.flatMap((event) =>
        event.event === "content-block-start" ? [event.index] : [],
      );
      expect(numbers).toEqual([0, 1, 2, 3]);
      const blocks = events.flatMap((event) =>
        event.event === "content-block-finish" ? [event.content] : [],
      );
      expect(blocks).toMatchObject([
        { type: "reasoning", reasoning: "I multiply." },
        { type: "text", text: "Let me see." },
        ...scripted.calls.map((call) => ({ type: "tool_call", ...call })),
      ]);
      expect(JSON.stringify(events)).not.toContain("response_metadata");
    },
  );

  it("leave out why a reply was cut off, which the reply has", async () => {
    await using server = await openAIServer({
      body: [
        { delta: { content: "The result" }, finish_reason: null },
        { delta: {}, finish_reason: "length" },
      ]
        .map((choice) => {
          const choices = [{ index: 0, ...choice }];
          const chunk = { id: "chatcmpl-1", object: "chat.completion.chunk", choices };
          return `data: ${JSON.stringify(chunk)}\n\n`;
        })
        .concat("data: [DONE]\n\n")
        .join(""),
      type: "text/event-stream",
    });
    const { reply } = await ask(await modelOn(server), "events");
    expect(reply).toMatchObject({ message: { text: "The result" }, finish: "length" });
  });
});
