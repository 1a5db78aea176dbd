import { AIMessage, AIMessageChunk } from "@langchain/core/messages";
import { isRecord } from "../../values/json.ts";
import { reasoningText } from "./reasoning.ts";
import { splitThinking } from "./think-tags.ts";
import { callsIn } from "./written-calls.ts";

type Calls = Pick<AIMessage, "tool_calls" | "invalid_tool_calls">;

/**
 * Returns a reply as a plain message, streamed or not: calls whose arguments are not one JSON object are in
 * `invalid_tool_calls` with what the model wrote, and a section in `<think>` tags is no part of the text. LangChain
 * completes the arguments of streamed calls that were cut off.
 */
export function plainMessage(message: AIMessage): AIMessage {
  const split = thinkSection(message);
  if (!AIMessageChunk.isInstance(message) && split === null) return message;
  const { id, name, content, additional_kwargs, response_metadata, usage_metadata } = message;
  const { tool_calls: _raw, ...kwargs } = additional_kwargs;
  return new AIMessage({
    content: split?.text ?? content,
    ...callsOf(message),
    additional_kwargs: {
      ...(AIMessageChunk.isInstance(message) ? kwargs : additional_kwargs),
      ...(split !== null && { reasoning_content: split.reasoning }),
    },
    response_metadata,
    ...(id !== undefined && { id }),
    ...(name !== undefined && { name }),
    ...(usage_metadata !== undefined && { usage_metadata }),
  });
}

function thinkSection(message: AIMessage) {
  const { content } = message;
  if (typeof content !== "string") return null;
  if (!content.includes("</think") && !content.trimStart().startsWith("<think")) return null;
  // The tags were read already, by the server or in the stream; those that are left are text.
  if (reasoningText(message) !== "") return null;
  const split = splitThinking(content);
  return split.reasoning === "" ? null : split;
}

function callsOf(message: AIMessage): Calls {
  if (!AIMessageChunk.isInstance(message)) {
    const { tool_calls = [], invalid_tool_calls = [] } = message;
    return { tool_calls, invalid_tool_calls };
  }
  const valid: NonNullable<Calls["tool_calls"]> = [];
  const invalid: NonNullable<Calls["invalid_tool_calls"]> = [];
  for (const { id, name, written, isValid } of callsIn(message)) {
    const known = id !== undefined && { id };
    if (isValid && isRecord(written)) {
      valid.push({ type: "tool_call", ...known, name, args: written });
    } else {
      const args = typeof written === "string" ? written : JSON.stringify(written);
      const error = "The arguments are not a JSON object";
      invalid.push({ type: "invalid_tool_call", ...known, name, args, error });
    }
  }
  return { tool_calls: valid, invalid_tool_calls: invalid };
}
