import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { isRecord } from "../../state/is-record.ts";

/** A call, or a part of one: only its first part has its name. */
interface CallPart {
  readonly name?: unknown;
  readonly index?: unknown;
}

/** Kinds of content that providers tell calls in. */
const callContent = new Set([
  "tool_use",
  "input_json_delta",
  "tool_call",
  "tool_call_chunk",
  "function_call",
  "functionCall",
]);

/**
 * Gives the parts of one streamed reply, in order, or the whole of it without the calls to a tool; the message itself
 * where it has none. Nothing is changed in place.
 */
export function callFilter(tool: string): (message: BaseMessage) => BaseMessage {
  const hidden = new Set<unknown>();
  const isHidden = ({ name, index }: CallPart): boolean => {
    if (typeof name !== "string" || name === "") return index !== undefined && hidden.has(index);
    if (name === tool) hidden.add(index);
    else hidden.delete(index);
    return name === tool;
  };
  return (message) => {
    if (message.type !== "ai") return message;
    let isLess = false;
    const isShown = (part: CallPart): boolean => {
      const isLeftOut = isHidden(part);
      isLess ||= isLeftOut;
      return !isLeftOut;
    };
    const given = message as AIMessage & Partial<Pick<AIMessageChunk, "tool_call_chunks">>;
    const { id, name, response_metadata, usage_metadata } = given;
    const parts = given.tool_call_chunks?.filter(isShown);
    const fields = {
      ...(id !== undefined && { id }),
      ...(name !== undefined && { name }),
      content: shownContent(given.content, isShown),
      additional_kwargs: shownExtras(given.additional_kwargs, isShown),
      response_metadata,
      ...(usage_metadata !== undefined && { usage_metadata }),
    };
    if (AIMessageChunk.isInstance(message)) {
      const made = { ...fields, tool_call_chunks: parts ?? [] };
      return isLess ? new AIMessageChunk(made) : message;
    }
    const tool_calls = (given.tool_calls ?? []).filter(isShown);
    const invalid_tool_calls = (given.invalid_tool_calls ?? []).filter(isShown);
    return isLess ? new AIMessage({ ...fields, tool_calls, invalid_tool_calls }) : message;
  };
}

function shownContent(
  content: AIMessage["content"],
  isShown: (part: CallPart) => boolean,
): AIMessage["content"] {
  if (typeof content === "string") return content;
  return content.filter((block) => {
    if (!callContent.has(block.type)) return true;
    const { functionCall } = block as { functionCall?: unknown };
    return isShown(isRecord(functionCall) ? { name: functionCall["name"] } : (block as CallPart));
  });
}

/** OpenAI's calls as they came. */
function shownExtras(
  extras: AIMessage["additional_kwargs"],
  isShown: (part: CallPart) => boolean,
): AIMessage["additional_kwargs"] {
  const { tool_calls: calls, ...others } = extras;
  if (calls === undefined) return extras;
  const shown = calls.filter((call) => {
    const { index } = call as CallPart;
    return isShown({ name: call.function.name, index });
  });
  return shown.length === 0 ? others : { ...others, tool_calls: shown };
}
