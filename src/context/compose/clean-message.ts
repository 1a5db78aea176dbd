import {
  AIMessage,
  HumanMessage,
  SystemMessage,
  type BaseMessage,
  type MessageContent,
} from "@langchain/core/messages";
import { cleanText } from "../clean-text.ts";

/** Providers refuse a message of a person's without any text. */
const noText = "(no text)";

const cleaned = new WeakMap<BaseMessage, BaseMessage>();

/** The message itself where its text is one that every provider takes, else one like it. Parts that are no text stay. */
export function cleanMessage(message: BaseMessage): BaseMessage {
  const known = cleaned.get(message);
  if (known !== undefined) return known;
  const content = cleanContent(message);
  const made = content === message.content ? message : withContent(message, content);
  cleaned.set(message, made);
  return made;
}

function cleanContent({ content, type }: BaseMessage): MessageContent {
  if (typeof content === "string") {
    const text = cleanText(content);
    return type === "human" && text.trim() === "" ? noText : text;
  }
  const parts = content.map((part) => {
    if (part.type !== "text" || typeof part.text !== "string") return part;
    const text = cleanText(part.text);
    return text === part.text ? part : { ...part, text };
  });
  return parts.some((part, at) => part !== content[at]) ? parts : content;
}

/** Only such messages are told as they are: calls and results are made from records. */
function withContent({ type, id, name }: BaseMessage, content: MessageContent): BaseMessage {
  const fields = { content, ...(id !== undefined && { id }), ...(name !== undefined && { name }) };
  if (type === "human") return new HumanMessage(fields);
  return type === "system" ? new SystemMessage(fields) : new AIMessage(fields);
}
