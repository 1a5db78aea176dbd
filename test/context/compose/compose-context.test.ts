import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import {
  buildReasoningContext,
  type BuildReasoningContextOptions,
} from "../../../src/context/build-reasoning-context.ts";
import type { ToolResult } from "../../../src/state/step-record.ts";
import { stepRecord, toolResult } from "../../helpers/step-record.ts";

const ask = (text: string) => new HumanMessage(text);
const answer = (text: string) => new AIMessage(text);

function step(turn: number, index: number, over: Partial<ToolResult> = {}) {
  const result = toolResult({ id: `call-${turn}-${index}`, ...over });
  const { id, name, args } = result;
  return stepRecord({
    turn_number: turn,
    step_index: index,
    tool_predictions: [{ id, name, args, reason: "" }],
    tool_results: [result],
  });
}

function built(options: Partial<BuildReasoningContextOptions>) {
  return buildReasoningContext({
    model: "openai:gpt-4o",
    conversation: [ask("go")],
    steps: [],
    goal: "planning",
    ...options,
  });
}

const shown = (messages: readonly BaseMessage[]) =>
  messages.map((message) => `${message.type}: ${message.text}`);

describe("the messages of a context", () => {
  it("leave each its role where their texts must be cleaned", () => {
    const { messages } = built({
      systemPrompt: "You help.\r\nBe brief.",
      conversation: [ask("a\r\nb"), answer("c\u0000"), ask("d")],
    });
    expect(shown(messages)).toEqual([
      "system: You help.\nBe brief.",
      "human: a\nb",
      "ai: c\\u0000",
      "human: d",
    ]);
  });

  it("have the texts of parts cleaned, and other parts as they were", () => {
    const image = { type: "image_url", image_url: { url: "https://example.org/a.png" } };
    const parts = [{ type: "text", text: "look\u0007" }, image];
    const { messages } = built({ conversation: [new HumanMessage({ content: parts })] });
    expect(messages[0]?.content).toEqual([{ type: "text", text: "look\\u0007" }, image]);
  });

  it("are never empty where a person spoke", () => {
    expect(shown(built({ conversation: [ask("")] }).messages)).toEqual(["human: (no text)"]);
  });

  it("have no thought of white space alone", () => {
    const thinking = { ...step(0, 0), thought: "\n \n" };
    expect(built({ steps: [thinking] }).messages[1]?.text).toBe("");
  });

  it("begin with a person's, whatever is left of the conversation", () => {
    const conversation = [answer("Hello."), ask("go")];
    expect(shown(built({ conversation }).messages)).toEqual([
      "human: [Earlier conversation, shortened] What was before is left out.",
      "ai: Hello.",
      "human: go",
    ]);
  });

  it("begin with a person's when old turns were dropped", () => {
    const turns = Array.from({ length: 8 }, (_, turn) => turn);
    const conversation = turns.flatMap((turn) => [
      ask(`request ${turn} ${"word ".repeat(20)}`),
      ...(turn < 7 ? [answer(`answer ${turn} ${"word ".repeat(20)}`)] : []),
    ]);
    const { messages } = built({
      conversation,
      steps: turns.map((turn) => step(turn, 0, { result: "result ".repeat(20) })),
      shortTerm: { strategy: "fifo", maxTokens: 150 },
    });
    expect(messages[0]?.type).toBe("human");
    expect(messages.length).toBeLessThan(12);
  });
});

describe("the last step", () => {
  const text = "one two three four. ".repeat(6000);

  it("is whole while three quarters of the room hold it", () => {
    const { messages } = built({ steps: [step(0, 0, { result: text })], budget: 60_000 });
    expect(messages.at(-1)?.text).toBe(text);
  });

  it("is the largest part that does fit otherwise", () => {
    const told = (budget: number) => {
      const { messages, metadata } = built({ steps: [step(0, 0, { result: text })], budget });
      expect(metadata.tokens.total).toBeLessThanOrEqual(budget);
      return messages.at(-1)?.text.length ?? 0;
    };
    expect(told(30_000)).toBeGreaterThan(60_000);
    expect(told(20_000)).toBeGreaterThan(40_000);
    expect(told(2000)).toBeGreaterThan(3500);
  });

  it("keeps what was wrong with it when its thought is too long", () => {
    const thinking = stepRecord({
      next_action: "continue",
      thought: "hm ".repeat(1_000_000),
      problem: "That was no call.",
    });
    const { messages, metadata } = built({ steps: [thinking], budget: 500 });
    expect(messages.at(-1)?.text).toBe("That was no call.");
    expect(metadata.steps).toMatchObject([{ fidelity: "preview" }]);
  });
});

describe("errors", () => {
  const failing = (turn: number, index: number, name: string) =>
    step(turn, index, {
      name,
      outcome: "failure",
      result: null,
      error: `${name} ${"x y ".repeat(900)}`,
    });

  it("of turns that are over fall away like anything else", () => {
    const { messages } = built({
      conversation: [ask("a"), answer("A"), ask("b"), answer("B"), ask("c")],
      steps: [failing(0, 0, "one"), failing(1, 0, "two")],
      budget: 1700,
    });
    expect(shown(messages).at(-1)).toBe("human: c");
  });

  it("of the turn under way stay with their whole message", () => {
    const steps = [failing(0, 0, "one"), step(0, 1, { name: "two" }), step(0, 2, { name: "two" })];
    const { messages } = built({ steps, budget: 2100 });
    expect(shown(messages).join("\n")).toContain(`one ${"x y ".repeat(900)}`.trim());
  });
});

describe("results", () => {
  it("that are texts are told as they are, also where they are JSON", () => {
    const result = JSON.stringify({ name: "x", list: Array(30).fill("entry") }, null, 2);
    expect(built({ steps: [step(0, 0, { result })] }).messages.at(-1)?.text).toBe(result);
  });

  it("are told with what later steps noted on them once they are lines", () => {
    const noted = (relevance: "high" | "low", insights: string) => ({
      id: "call-0-0",
      insights,
      learning: "",
      relevance,
    });
    const told = (relevance: "high" | "low") => {
      const steps = [
        step(0, 0, { result: { id: "doc_1", text: "word ".repeat(150) } }),
        { ...step(0, 1), observations: [noted(relevance, "doc_1 has the answer")] },
        step(0, 2, { result: "text ".repeat(150) }),
      ];
      return shown(built({ steps, budget: 270 }).messages).join("\n");
    };
    expect(told("high")).toContain(
      'search(query="python tutorial") → success: doc_1 has the answer',
    );
    expect(told("low")).not.toContain("doc_1");
  });
});

describe("the budget", () => {
  it("is never more than the window has beside the reply", () => {
    const { metadata } = built({ model: "openai:gpt-4", budget: 100_000 });
    expect(metadata).toMatchObject({ window: 8192, budget: 8192 - metadata.reserved });
  });
});
