import { AIMessage } from "@langchain/core/messages";

/**
 * Whether the item is an answer with calls of tools. While it is the newest item of its list the calls are open: a person
 * may yet refuse or change them, and LangChain's middleware for that writes the outcome into the message itself.
 */
export function hasOpenCalls(newest: unknown): newest is AIMessage {
  return AIMessage.isInstance(newest) && (newest.tool_calls?.length ?? 0) > 0;
}

/** A copy of the message that can be written to, with the contents of the original. */
export function reopen(message: AIMessage): AIMessage {
  const copy = Object.create(Object.getPrototypeOf(message) as object) as AIMessage;
  return Object.assign(copy, message, { lc_kwargs: { ...message.lc_kwargs } });
}
