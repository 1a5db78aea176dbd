import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  ChatMessageChunk,
  FunctionMessage,
  FunctionMessageChunk,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  SystemMessageChunk,
  ToolMessage,
  ToolMessageChunk,
} from "@langchain/core/messages";

/**
 * LangChain's own message classes by the name they are stored under. All that one of their instances knows is in its own
 * properties; of a subclass nobody can tell.
 */
export const messageClasses = {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  ChatMessageChunk,
  FunctionMessage,
  FunctionMessageChunk,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  SystemMessageChunk,
  ToolMessage,
  ToolMessageChunk,
} as const;

/** Whether a stored id names one of {@link messageClasses}. Python's have the module between. */
export function isMessageId(id: unknown): id is readonly unknown[] {
  if (!Array.isArray(id) || id.length < 3) return false;
  const [root, namespace] = id as unknown[];
  const name: unknown = id.at(-1);
  return (
    root === "langchain_core" &&
    namespace === "messages" &&
    typeof name === "string" &&
    Object.hasOwn(messageClasses, name)
  );
}
