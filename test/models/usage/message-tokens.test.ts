import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import type { ModelTool } from "../../../src/models/agent-model.ts";
import { messageTokens, toolsTokens } from "../../../src/models/usage/message-tokens.ts";
import type { TokenCounter } from "../../../src/models/usage/tokens.ts";

/** Counts words, and how often it was asked. */
function wordCounter(): { count: TokenCounter; asked: () => number } {
  let asked = 0;
  const count: TokenCounter = (text) => {
    asked += 1;
    return text.split(/\s+/).filter((word) => word !== "").length;
  };
  return { count, asked: () => asked };
}

describe("the tokens of a message", () => {
  it("are those of its text, and four around it", () => {
    const { count } = wordCounter();
    expect(messageTokens(new HumanMessage("one two three"), count)).toBe(7);
    expect(messageTokens(new ToolMessage({ content: "one", tool_call_id: "1" }), count)).toBe(5);
  });

  it("are also those of the names and arguments of its calls", () => {
    const message = new AIMessage({
      content: "I look.",
      tool_calls: [
        { id: "1", name: "look", args: { at: "this file" } },
        { id: "2", name: "wait", args: {} },
      ],
    });
    // `look{"at":"this file"}` and `wait{}`.
    expect(messageTokens(message, wordCounter().count)).toBe(4 + 2 + 2 + 1);
  });

  it("are a flat 765 for a part that is no text", () => {
    const message = new HumanMessage({
      content: [
        { type: "text", text: "What is this?" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
      ],
    });
    expect(messageTokens(message, wordCounter().count)).toBe(4 + 3 + 765);
  });

  it("do not count a call twice that stands among the parts too", () => {
    const message = new AIMessage({
      content: [{ type: "tool_use", id: "1", name: "look", input: {} }],
      tool_calls: [{ id: "1", name: "look", args: {} }],
    });
    expect(messageTokens(message, wordCounter().count)).toBe(5);
  });

  it("are counted once for each counter", () => {
    const message = new HumanMessage("one two");
    const one = wordCounter();
    const characters: TokenCounter = (text) => text.length;
    expect(messageTokens(message, one.count)).toBe(6);
    expect(messageTokens(message, characters)).toBe(11);
    const before = one.asked();
    expect(messageTokens(message, one.count)).toBe(6);
    expect(one.asked()).toBe(before);
  });
});

describe("the tokens of tools", () => {
  const tools: readonly ModelTool[] = [
    { name: "look", description: "Looks at one thing", input_schema: { type: "object" } },
  ];

  it("are none without tools", () => {
    const { count, asked } = wordCounter();
    expect([toolsTokens(undefined, count), toolsTokens([], count)]).toEqual([0, 0]);
    expect(asked()).toBe(0);
  });

  it("are those of what they are told as, counted once for the same list", () => {
    const { count, asked } = wordCounter();
    expect(toolsTokens(tools, count)).toBe(4);
    expect(toolsTokens(tools, count)).toBe(4);
    expect(asked()).toBe(1);
  });
});
