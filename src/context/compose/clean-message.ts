import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { cleanText } from "../clean-text.ts";

const cleaned = new WeakMap<BaseMessage, BaseMessage>();

/** The message itself where its text is one that every provider takes, else one like it. Parts that are no text stay. */
export function cleanMessage(message: BaseMessage): BaseMessage {
  if (typeof message.content !== "string") return message;
  const known = cleaned.get(message);
  if (known !== undefined) return known;
  const content = cleanText(message.content);
  const made = content === message.content ? message : withContent(message, content);
  cleaned.set(message, made);
  return made;
}

function withContent({ type, id, name }: BaseMessage, content: string): BaseMessage {
  const fields = { content, ...(id !== undefined && { id }), ...(name !== undefined && { name }) };
  return type === "human" ? new HumanMessage(fields) : new AIMessage(fields);
}
