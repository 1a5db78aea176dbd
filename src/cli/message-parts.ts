import { AIMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";

/** A message in a plain form, as chat formats have it. */
export interface PlainMessage {
  readonly role: string;
  /** Text, or parts where it is more than text. */
  readonly content: unknown;
  readonly tool_calls?: readonly { id?: string; name: string; args: unknown }[];
  readonly tool_call_id?: string;
  readonly name?: string;
}

const roles: Readonly<Record<string, string>> = { human: "user", ai: "assistant" };

export function plainMessage(message: BaseMessage): PlainMessage {
  const { content, name } = message;
  const type = message.getType();
  const calls = AIMessage.isInstance(message) ? (message.tool_calls ?? []) : [];
  return {
    role: roles[type] ?? type,
    content,
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, name: tool, args }) => {
        return { ...(id !== undefined && { id }), name: tool, args };
      }),
    }),
    ...(ToolMessage.isInstance(message) && { tool_call_id: message.tool_call_id }),
    ...(name !== undefined && name !== "" && { name }),
  };
}
