import { createHash } from "node:crypto";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";

/**
 * What tells whether a conversation still begins as it was left: its length, and a hash (SHA-256) of its ids, texts and
 * calls.
 */
export function conversationDigest(messages: readonly BaseMessage[]): string {
  const hash = createHash("sha256");
  for (const message of messages) {
    const calls = AIMessage.isInstance(message) ? (message.tool_calls ?? []) : [];
    const told = calls.map(({ id, name, args }) => [id, name, args]);
    hash.update(JSON.stringify([message.id, message.type, message.content, told]));
  }
  return `${messages.length}:${hash.digest("hex")}`;
}

/**
 * The messages that nobody has looked at: those after what was there when the last turn ended, or all of them where that
 * has been changed since.
 */
export function newMessages(
  messages: readonly BaseMessage[],
  digest: string | undefined,
): readonly BaseMessage[] {
  const count = Number.parseInt(digest ?? "0");
  if (count === 0 || count > messages.length) return messages;
  const isSame = conversationDigest(messages.slice(0, count)) === digest;
  return isSame ? messages.slice(count) : messages;
}
