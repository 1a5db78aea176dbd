import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { BadReply } from "../failure.ts";
import { keepFinishWord } from "./finish-reason.ts";
import { reasoningText } from "./reasoning.ts";
import { replyEvents } from "./reply-events.ts";
import { ThinkSplitter } from "./think-tags.ts";

type Streamed = BaseChatModel["_streamResponseChunks"];

/**
 * Changes how a chat model streams, in place: a section in `<think>` tags becomes reasoning, and callbacks receive no
 * empty tokens. A model that does not stream stays as it is. Copies that `withConfig` and `bindTools` make of it stream
 * the same way.
 */
export function normaliseStream(chat: BaseChatModel): BaseChatModel {
  const original = Reflect.get(chat, "_streamResponseChunks") as Streamed;
  if (original === Reflect.get(BaseChatModel.prototype, "_streamResponseChunks")) return chat;
  const chunks: Streamed = (messages, options, runManager) =>
    // Without its callbacks, which receive what is left of the chunks.
    reportChunks(splitChunks(original.call(chat, messages, options)), runManager);
  const events: BaseChatModel["_streamChatModelEvents"] = (messages, options, runManager) =>
    replyEvents(chunks(messages, options, runManager), options.signal);
  const withConfig = chat.withConfig.bind(chat);
  // OpenAI's class makes a new model here; others bind the options to this one.
  const configured: BaseChatModel["withConfig"] = (config) => {
    const made = withConfig(config);
    return made instanceof BaseChatModel ? normaliseStream(made) : made;
  };
  Object.defineProperties(chat, {
    _streamResponseChunks: { value: chunks },
    // From the chunks, so that there is one way to read a stream.
    _streamChatModelEvents: { value: events },
    withConfig: { value: configured },
  });
  return chat;
}

async function* reportChunks(
  chunks: AsyncIterable<ChatGenerationChunk>,
  runManager: CallbackManagerForLLMRun | undefined,
): AsyncGenerator<ChatGenerationChunk> {
  for await (const chunk of chunks) {
    // The reader gives the message its id.
    yield chunk;
    if (runManager === undefined || isEmpty(chunk.message)) continue;
    const place = { prompt: 0, completion: 0 };
    const none = undefined;
    await runManager.handleLLMNewToken(chunk.text, place, none, none, none, { chunk });
  }
}

/** Whether a part of a reply has nothing that a reader could show or count. */
function isEmpty(message: BaseMessage): boolean {
  if (!AIMessageChunk.isInstance(message)) return false;
  const { content, tool_call_chunks: calls = [], usage_metadata: usage } = message;
  return (
    content.length === 0 &&
    calls.length === 0 &&
    usage === undefined &&
    reasoningText(message) === ""
  );
}

/** Characters of a streamed reply, its reasoning and arguments included: a server could fill the memory with more. */
const mostCharacters = 16_000_000;

/** @throws BadReply for a reply that is too long */
async function* splitChunks(
  chunks: AsyncIterable<ChatGenerationChunk>,
): AsyncGenerator<ChatGenerationChunk> {
  const splitter = new ThinkSplitter();
  let last: ChatGenerationChunk | undefined;
  let received = 0;
  for await (const chunk of chunks) {
    const { message } = chunk;
    received += charactersOf(message);
    if (received > mostCharacters) {
      throw new BadReply(`Expected at most ${mostCharacters.toLocaleString("en")} characters`);
    }
    keepFinishWord(chunk);
    if (!AIMessageChunk.isInstance(message) || typeof message.content !== "string") {
      yield chunk;
      continue;
    }
    last = chunk;
    if (message.content === "") {
      yield chunk;
      continue;
    }
    const { text, reasoning } = splitter.push(message.content);
    yield text === message.content ? chunk : withText(chunk, text, reasoning);
  }
  const { text, reasoning } = splitter.end();
  if (last !== undefined && text + reasoning !== "") {
    const { id } = last.message;
    const message = new AIMessageChunk({ content: "", ...(id !== undefined && { id }) });
    yield withText(new ChatGenerationChunk({ text: "", message }), text, reasoning);
  }
}

function charactersOf(message: BaseMessage): number {
  const { content } = message;
  const refusal: unknown = message.additional_kwargs["refusal"];
  const calls = AIMessageChunk.isInstance(message) ? (message.tool_call_chunks ?? []) : [];
  const written = typeof content === "string" ? content : JSON.stringify(content);
  return calls.reduce(
    (sum, { args = "" }) => sum + args.length,
    written.length +
      reasoningText(message).length +
      (typeof refusal === "string" ? refusal.length : 0),
  );
}

function withText(
  chunk: ChatGenerationChunk,
  text: string,
  reasoning: string,
): ChatGenerationChunk {
  const message = chunk.message as AIMessageChunk;
  const { id, name, tool_call_chunks, additional_kwargs, response_metadata, usage_metadata } =
    message;
  const thought = reasoningText(message) + reasoning;
  return new ChatGenerationChunk({
    text,
    ...(chunk.generationInfo !== undefined && { generationInfo: chunk.generationInfo }),
    message: new AIMessageChunk({
      content: text,
      additional_kwargs: {
        ...additional_kwargs,
        ...(thought !== "" && { reasoning_content: thought }),
      },
      response_metadata,
      ...(id !== undefined && { id }),
      ...(name !== undefined && { name }),
      ...(tool_call_chunks !== undefined && { tool_call_chunks }),
      ...(usage_metadata !== undefined && { usage_metadata }),
    }),
  });
}
