import {
  AIMessage,
  AIMessageChunk,
  filterMessages,
  HumanMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  mergeMessageRuns,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
  trimMessages,
  type BaseMessage,
} from "@langchain/core/messages";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { fakeModel } from "@langchain/core/testing";
import { tool } from "@langchain/core/tools";
import {
  Command,
  MemorySaver,
  messagesStateReducer,
  type CheckpointTuple,
} from "@langchain/langgraph";
import { createReactAgent, ToolNode } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, humanInTheLoopMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { freezeElement, hasOpenCalls } from "../../../checkpointers/elements/freeze.ts";
import { openAIServer } from "../../helpers/openai-server.ts";

const blocks = [
  { type: "text", text: "look at\nthis" },
  { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
];

function call(id: string) {
  return { id, name: "add", args: { a: 1, b: 2 }, type: "tool_call" as const };
}

/** A conversation with everything in it; frozen, but for the message that is not to be. */
function conversation(): BaseMessage[] {
  const messages = [
    new SystemMessage({ id: "1", content: "Be brief." }),
    new HumanMessage({ id: "2", content: "one\ntwo\nthree" }),
    new HumanMessage({ id: "3", content: blocks }),
    new AIMessage({
      id: "4",
      content: "",
      tool_calls: [call("a")],
      response_metadata: { model_provider: "openai" },
      usage_metadata: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    }),
    new ToolMessage({ id: "5", content: "3", tool_call_id: "a", artifact: { sum: [3] } }),
    new AIMessage({ id: "6", contentBlocks: [{ type: "text", text: "Once more." }, call("b")] }),
    new ToolMessage({ id: "7", content: "3", tool_call_id: "b" }),
    new AIMessage({ id: "8", content: [{ type: "text", text: "It is 3." }] }),
    new AIMessage({ id: "9", content: "Truly." }),
  ];
  for (const message of messages) freezeElement(message);
  return messages;
}

const add = tool(({ a, b }) => String(a + b), {
  name: "add",
  description: "Adds.",
  schema: z.object({ a: z.number(), b: z.number() }),
});

/** LangGraph's saver in memory, which freezes what it is given and what it gives, but for open calls. */
class FreezingSaver extends MemorySaver {
  override async getTuple(...of: Parameters<MemorySaver["getTuple"]>) {
    const tuple = await super.getTuple(...of);
    freezeMessages(tuple?.checkpoint);
    return tuple;
  }

  override async put(...of: Parameters<MemorySaver["put"]>) {
    freezeMessages(of[1]);
    return super.put(...of);
  }
}

function freezeMessages(checkpoint: CheckpointTuple["checkpoint"] | undefined): void {
  const messages = checkpoint?.channel_values["messages"];
  if (!Array.isArray(messages)) return;
  for (const [at, message] of messages.entries())
    if (at < messages.length - 1 || !hasOpenCalls(message)) freezeElement(message);
}

describe("frozen messages", () => {
  it("are all but those with content that copies append to", () => {
    const open = conversation().filter((message) => !Object.isFrozen(message));
    expect(open.map(({ id }) => id)).toEqual(["6"]);
  });

  it("are merged by LangGraph's reducer", () => {
    const update = [new HumanMessage("?"), new RemoveMessage({ id: "2" }), conversation()[3]!];
    freezeElement(update[1]);
    const merged = messagesStateReducer(Object.freeze(conversation()) as BaseMessage[], update);
    expect(merged).toHaveLength(9);
    expect(merged.at(-1)?.id).toBeTruthy();
  });

  it.each([1, 20, 60, 500])("are trimmed to the last %i characters", async (maxTokens) => {
    const count = (messages: BaseMessage[]) => messages.map(({ text }) => text).join("").length;
    const options = {
      maxTokens,
      tokenCounter: count,
      strategy: "last",
      allowPartial: true,
    } as const;
    const trimmed = await trimMessages(conversation(), options);
    expect(count(trimmed)).toBeLessThanOrEqual(maxTokens);
  });

  it("are filtered, and merged with their neighbours", () => {
    expect(filterMessages(conversation(), { includeTypes: ["human"] })).toHaveLength(2);
    expect(mergeMessageRuns(conversation())).toHaveLength(7);
  });

  it("are shown, described and stored", () => {
    for (const message of conversation()) {
      expect(message.contentBlocks).toBeInstanceOf(Array);
      expect(message.toFormattedString()).toContain("Message");
      expect(message.text).toBeTypeOf("string");
    }
    const stored = mapChatMessagesToStoredMessages(conversation());
    expect(mapStoredMessagesToChatMessages(stored)).toHaveLength(9);
  });

  it("fill a prompt", async () => {
    const prompt = ChatPromptTemplate.fromMessages([
      new MessagesPlaceholder("past"),
      ["human", "?"],
    ]);
    expect((await prompt.invoke({ past: conversation() })).messages).toHaveLength(10);
  });

  it("are joined as chunks", () => {
    const chunks = ['{"a":', "1}"].map(
      (args, i) =>
        new AIMessageChunk({
          id: "1",
          content: [{ type: "text", text: String(i), index: 0 }],
          tool_call_chunks: [
            { args, index: 0, type: "tool_call_chunk", ...(i === 0 && { id: "c", name: "f" }) },
          ],
          usage_metadata: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
        }),
    );
    for (const chunk of chunks) expect(freezeElement(chunk)).toBe(true);
    const [first, second] = chunks as [AIMessageChunk, AIMessageChunk];
    expect(first.concat(second).tool_calls).toMatchObject([{ id: "c", args: { a: 1 } }]);
  });

  it("have their tool calls run", async () => {
    const results = await new ToolNode([add]).invoke({ messages: conversation().slice(0, 4) });
    expect(results.messages).toMatchObject([{ content: "3" }]);
  });

  it("are sent to OpenAI", async () => {
    await using server = await openAIServer({ text: "Yes." }, { text: "Yes." });
    const model = new ChatOpenAI({
      model: "test",
      apiKey: "none",
      maxRetries: 0,
      configuration: { baseURL: server.url },
    });
    expect((await model.invoke(conversation())).text).toBe("Yes.");
    let streamed = "";
    for await (const chunk of await model.stream(conversation())) streamed += chunk.text;
    expect(streamed).toBe("Yes.");
    expect(server.requests[0]?.body.messages).toHaveLength(9);
  });

  it.each(["values", "updates", "messages", "debug"] as const)(
    "serve an agent over two turns that streams %s",
    async (streamMode) => {
      const llm = fakeModel()
        .respondWithTools([{ name: "add", args: { a: 1, b: 2 }, id: "a" }])
        .respond(new AIMessage("3"))
        .respondWithTools([{ name: "add", args: { a: 1, b: 2 }, id: "b" }])
        .respond(new AIMessage("3"));
      const checkpointer = new FreezingSaver();
      const agent = createReactAgent({ llm, tools: [add], checkpointer, name: "bot" });
      const config = { configurable: { thread_id: "1" } };
      for (const question of ["1 + 2?", "Really?"]) {
        const input = { messages: [new HumanMessage(question)] };
        const events = await agent.stream(input, { ...config, streamMode, durability: "sync" });
        for await (const event of events) expect(event).toBeTruthy();
      }
      const { messages } = (await agent.getState(config)).values as { messages: BaseMessage[] };
      expect(messages).toHaveLength(8);
      expect(messages.every((message) => Object.isFrozen(message))).toBe(true);
    },
  );

  it.each([
    ["approve", [{ type: "approve" }], "3"],
    ["edit", [{ type: "edit", editedAction: { name: "add", args: { a: 5, b: 5 } } }], "10"],
    ["reject", [{ type: "reject", message: "no" }], "no"],
  ])(
    "let a person %s calls, which are open while they are the newest",
    async (_name, decisions, result) => {
      const model = fakeModel()
        .respondWithTools([{ name: "add", args: { a: 1, b: 2 }, id: "a" }])
        .respond(new AIMessage("Done."));
      const middleware = [humanInTheLoopMiddleware({ interruptOn: { add: true } })];
      const agent = createAgent({
        model,
        tools: [add],
        checkpointer: new FreezingSaver(),
        middleware,
      });
      const config = { configurable: { thread_id: "1" }, durability: "sync" } as const;
      await agent.invoke({ messages: [new HumanMessage("1 + 2?")] }, config);
      const { messages } = await agent.invoke(new Command({ resume: { decisions } }), config);
      expect(messages.map(({ text }) => text)).toEqual(["1 + 2?", "1 + 2?", result, "Done."]);
      expect(messages.slice(0, 3).every((message) => Object.isFrozen(message))).toBe(true);
    },
  );
});
