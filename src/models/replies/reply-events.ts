import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { convertChunksToEvents } from "@langchain/core/language_models/compat";
import { type AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { reasoningText } from "./reasoning.ts";

type Events = ReturnType<BaseChatModel["_streamChatModelEvents"]>;

/** A symbol, so that no reader of events and no serializer sees the message. */
const wholeReply = Symbol("whole reply");

/**
 * Converts the chunks of a reply to events of content blocks: its reasoning, its text and its calls, whatever the
 * provider. LangChain assembles a message from such events, which have neither the details of the reply nor why it ended.
 * {@link replyOf} returns the message of the chunks instead.
 */
export async function* replyEvents(
  chunks: AsyncIterable<ChatGenerationChunk>,
  signal: AbortSignal | undefined,
): Events {
  let whole: ChatGenerationChunk | undefined;
  const numbers = new BlockNumbers();
  async function* blocks() {
    for await (const chunk of chunks) {
      whole = whole?.concat(chunk) ?? chunk;
      yield withBlocks(chunk, numbers);
    }
  }
  for await (const event of convertChunksToEvents(blocks(), signal && { signal })) {
    if (event.event !== "message-finish") yield event;
    else yield { ...event, responseMetadata: { [wholeReply]: whole?.message } };
  }
}

/** Returns the message of a reply that LangChain has assembled from the events of {@link replyEvents}; others unchanged. */
export function replyOf(message: AIMessage): AIMessage {
  const whole: unknown = Reflect.get(message.response_metadata, wholeReply);
  if (!AIMessageChunk.isInstance(whole)) return message;
  whole.id ??= message.id;
  return whole;
}

/** Numbers of blocks in the order of their first parts, without gaps: clients expect that. */
class BlockNumbers {
  readonly #known: unknown[] = [];
  #call: unknown;

  of(key: unknown): number {
    const at = this.#known.indexOf(key);
    return at >= 0 ? at : this.#known.push(key) - 1;
  }

  /** A part of a call without an index and an id belongs to the call before. */
  ofCall({ index, id }: { readonly index?: number; readonly id?: string }): number {
    this.#call = index ?? (id === undefined ? this.#call : `id ${id}`);
    return this.of(this.#call);
  }
}

/** Returns a chunk whose content has numbered blocks. LangChain gives text and the first call the same number. */
function withBlocks(
  { message, text }: ChatGenerationChunk,
  numbers: BlockNumbers,
): ChatGenerationChunk {
  const thought = reasoningText(message);
  const said = message.text;
  const { usage_metadata, tool_call_chunks: calls = [] } = partsOf(message);
  const content = [
    ...(thought === ""
      ? []
      : [{ type: "reasoning", reasoning: thought, index: numbers.of("reasoning") }]),
    ...(said === "" ? [] : [{ type: "text", text: said, index: numbers.of("text") }]),
  ];
  return new ChatGenerationChunk({
    text,
    message: new AIMessageChunk({
      content: content as AIMessageChunk["content"],
      tool_call_chunks: calls.map((call) => ({
        ...call,
        index: numbers.ofCall(call),
      })),
      ...(message.id !== undefined && { id: message.id }),
      ...(usage_metadata !== undefined && { usage_metadata }),
    }),
  });
}

function partsOf(message: BaseMessage): Partial<AIMessageChunk> {
  return AIMessageChunk.isInstance(message) ? message : {};
}
