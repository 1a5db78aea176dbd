import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  type MessageContent,
  SystemMessage,
} from "@langchain/core/messages";
import { isRecord } from "../values/json.ts";

/** With the `u` flag the range of surrogates finds only those without their other half. */
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const refused = /\r\n|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ud800-\udfff]/gu;

/**
 * A text as every provider takes it: a lone surrogate becomes U+FFFD, a control character other than line feed and tab
 * its visible escape (`\u0000`), CRLF a line feed. A clean text is returned as it is. Takes linear time.
 */
export function cleanText(text: string): string {
  return text.search(refused) < 0 ? text : text.replace(refused, harmless);
}

function harmless(found: string): string {
  if (found === "\r\n") return "\n";
  const code = found.charCodeAt(0);
  return code >= 0xd800 ? "\ufffd" : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** Levels that are looked at; what is deeper stays as it is. */
const maxDepth = 100;

/** {@link cleanText} for every text and key in a JSON value. The same value where all are clean. */
export function cleanValue<Value>(value: Value): Value {
  return cleaned(value, 0) as Value;
}

function cleaned(value: unknown, depth: number): unknown {
  if (typeof value === "string") return cleanText(value);
  if (depth > maxDepth) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => cleaned(item, depth + 1));
    return items.every((item, at) => item === value[at]) ? value : items;
  }
  if (!isRecord(value)) return value;
  const entries = Object.entries(value);
  const own = entries.map(([key, item]) => [cleanText(key), cleaned(item, depth + 1)] as const);
  const isClean = own.every(
    ([key, item], at) => key === entries[at]?.[0] && item === entries[at]?.[1],
  );
  return isClean ? value : Object.fromEntries(own);
}

/** Providers refuse a message of a person's without any text. */
const noText = "(no text)";

const cleanMessages = new WeakMap<BaseMessage, BaseMessage>();

/** The message itself where its text is one that every provider takes, else one like it. Parts that are no text stay. */
export function cleanMessage(message: BaseMessage): BaseMessage {
  const known = cleanMessages.get(message);
  if (known !== undefined) return known;
  const content = cleanContent(message);
  const made = content === message.content ? message : withContent(message, content);
  cleanMessages.set(message, made);
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

/** Only these messages are sent unchanged: calls and results are rendered from records. */
function withContent({ type, id, name }: BaseMessage, content: MessageContent): BaseMessage {
  const fields = { content, ...(id !== undefined && { id }), ...(name !== undefined && { name }) };
  if (type === "human") return new HumanMessage(fields);
  return type === "system" ? new SystemMessage(fields) : new AIMessage(fields);
}
