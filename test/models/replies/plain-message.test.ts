import { AIMessage, AIMessageChunk } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { plainMessage } from "../../../src/models/replies/plain-message.ts";

const usage_metadata = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
const response_metadata = { finish_reason: "stop" };

function chunk(...args: readonly string[]): AIMessageChunk {
  return new AIMessageChunk({
    content: "Let me see.",
    id: "m1",
    tool_call_chunks: args.map((text, index) => ({
      type: "tool_call_chunk",
      id: `c${index}`,
      name: "calculator",
      args: text,
      index,
    })),
    usage_metadata,
    response_metadata,
  });
}

describe("a plain message", () => {
  it("is the same object for a whole message without thinking", () => {
    const message = new AIMessage({ content: "42", id: "m1" });
    expect(plainMessage(message)).toBe(message);
    const mentions = new AIMessage("Write <think> and </think> around it.");
    expect(plainMessage(mentions).text).toBe("Write <think> and </think> around it.");
  });

  it("is no chunk, and has all that the chunk has", () => {
    const message = plainMessage(chunk('{"expression":"6 * 7"}'));
    expect(AIMessageChunk.isInstance(message)).toBe(false);
    expect(message).toMatchObject({
      id: "m1",
      content: "Let me see.",
      tool_calls: [
        { type: "tool_call", id: "c0", name: "calculator", args: { expression: "6 * 7" } },
      ],
      invalid_tool_calls: [],
      usage_metadata,
      response_metadata,
    });
  });

  it.each(['{"expression":"6 *', '"6 * 7"', "[1]", "6 * 7", "null"])(
    "keeps calls with the arguments %s as they were written",
    (args) => {
      const message = plainMessage(chunk('{"expression":"1 + 1"}', args));
      expect(message.tool_calls).toMatchObject([{ id: "c0", args: { expression: "1 + 1" } }]);
      expect(message.invalid_tool_calls).toMatchObject([{ id: "c1", name: "calculator", args }]);
    },
  );

  it.each([
    ["a whole reply", (content: string) => new AIMessage({ content })],
    ["a streamed reply", (content: string) => new AIMessageChunk({ content })],
  ])("has thinking apart from the text of %s", (_, make) => {
    const message = plainMessage(make("<think>6 * 7</think>\n42"));
    expect(message.content).toBe("42");
    expect(message.additional_kwargs).toEqual({ reasoning_content: "6 * 7" });
  });

  it("leaves tags in the text of a reply whose reasoning is known", () => {
    const message = new AIMessage({
      content: "Close it with </think> at the end.",
      additional_kwargs: { reasoning_content: "The user asks about tags." },
    });
    expect(plainMessage(message)).toBe(message);
  });
});
