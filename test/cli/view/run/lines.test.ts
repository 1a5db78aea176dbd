import { describe, expect, it } from "vitest";
import { endingLines, openingLines } from "../../../../src/cli/view/run/lines.ts";
import { createStyle } from "../../../../src/cli/view/terminal.ts";
import { noUsage } from "../../../../src/state/usage.ts";
import { stepOf } from "../events.ts";

const style = createStyle(false);
const usage = {
  ...noUsage,
  tokens_in: 1234,
  tokens_out: 56,
  llm_calls: 2,
  tool_calls: 1,
  cost_usd: 0.00123,
};
const completed = {
  status: "COMPLETED",
  output: { message: "At noon." },
  interrupts: [],
  waits: [],
  toolCalls: [],
  incomplete: false,
  incomplete_reason: null,
  failure: null,
  attempts: [{ attempt_number: 0, errors: [] }],
  steps: [stepOf({}), stepOf({ step_index: 1 })],
  usage,
  invocation_usage: usage,
} as const;
const options = { width: 40, style, elapsedMs: 2345, resume: "stratagraph run a.yaml --thread t" };
const took = "2 steps · 1 tool call · 1,234 tokens in, 56 out · $0.0012 · 2.3 s";

describe("the opening", () => {
  const agent = { name: "tides", version: "1.2.0" };

  it("names agent, model and thread", () => {
    const opening = { agent, model: "openai:gpt-4o-mini", threadId: "t\u00071" };
    expect(openingLines(opening, 80, style)).toEqual([
      "tides 1.2.0 · openai:gpt-4o-mini · thread t␇1",
    ]);
  });

  it("says that the offline model is no language model", () => {
    const opening = { agent, model: "offline:rules", threadId: null };
    expect(openingLines(opening, 80, style)).toEqual([
      "tides 1.2.0 · offline:rules",
      "offline:rules is a rule-based stand-in, not a language model; set OPENAI_API_KEY",
      "or pass --model provider:model.",
    ]);
  });
});

describe("the ending", () => {
  it("sets the answer apart, and says what it took", () => {
    expect(endingLines(completed, options)).toEqual([
      "",
      "── Answer ──────────────────────────────",
      "",
      "At noon.",
      "",
      took,
    ]);
  });

  it("wraps an answer to the terminal, and keeps its lines and their indentation", () => {
    const message = `One two three four five six seven eight nine.\n\n  - ${"ten ".repeat(12)}\n`;
    const lines = endingLines({ ...completed, output: { message } }, options);
    expect(lines.slice(3, -2)).toEqual([
      "One two three four five six seven eight",
      "nine.",
      "",
      "  - ten ten ten ten ten ten ten ten ten",
      "  ten ten ten",
    ]);
  });

  it("marks an answer that is incomplete", () => {
    expect(
      endingLines(
        { ...completed, incomplete: true, incomplete_reason: "max_iterations" },
        { ...options, width: 80 },
      )[1],
    ).toBe("── Answer (incomplete: the step limit was reached) ─────────────────────────────");
    expect(
      endingLines(
        { ...completed, incomplete: true, incomplete_reason: "length" },
        { ...options, width: 80 },
      )[1],
    ).toBe("── Answer (incomplete: cut off at the output limit) ────────────────────────────");
  });

  it("prints an output of other fields as JSON", () => {
    const output = { message: "At noon.", high: 12 };
    expect(endingLines({ ...completed, output }, options).slice(3, -2)).toEqual([
      "{",
      '  "message": "At noon.",',
      '  "high": 12',
      "}",
    ]);
  });

  it("does not let an answer act on the terminal", () => {
    const output = { message: "\u001B]52;c;ZXZpbA==\u0007Noon\u0008." };
    expect(endingLines({ ...completed, output }, options)[3]).toBe("Noon␈.");
  });

  it("gives the cause of a failure", () => {
    const failure = { cause: "model_call", message: "The model is down." };
    const failed = { ...completed, status: "FAILED", output: null, failure } as const;
    expect(endingLines(failed, { ...options, width: 80 })).toEqual([
      "",
      "✗ Failed: The model is down. [model_call]",
      "",
      took,
    ]);
  });

  it("does not say again why attempts were refused", () => {
    const message = "All 2 attempts failed. attempt 1: too short | attempt 2: too long";
    const failure = { cause: "attempts_exhausted", message };
    const attempts = [0, 1].map((attempt_number) => ({ attempt_number, errors: ["x"] }));
    const failed = { ...completed, status: "FAILED", output: null, failure, attempts } as const;
    const ending = (over: object) => endingLines(failed, { ...options, width: 99, ...over })[1];
    expect(ending({})).toBe(`✗ Failed: ${message} [attempts_exhausted]`);
    expect(ending({ hasRefused: true })).toBe(
      "✗ Failed: all 2 attempts were refused. [attempts_exhausted]",
    );
  });

  it("says nothing of models and tokens where no model was asked", () => {
    const spent = { ...noUsage, tool_calls: 1 };
    const flow = { ...completed, usage: spent, invocation_usage: spent };
    expect(endingLines(flow, options).at(-1)).toBe("2 steps · 1 tool call · 2.3 s");
    const agent = { name: "tides", version: "1.2.0" };
    expect(openingLines({ agent, model: null, threadId: null }, 80, style)).toEqual([
      "tides 1.2.0",
    ]);
  });

  it("says how to go on after a cancellation, where something was kept", () => {
    const cancelled = { ...completed, status: "CANCELLED", output: null } as const;
    expect(endingLines(cancelled, options)).toEqual([
      "",
      "■ Cancelled. To continue:",
      "  stratagraph run a.yaml --thread t",
      "",
      took,
    ]);
    expect(endingLines(cancelled, { ...options, resume: null })).toEqual([
      "",
      "■ Cancelled.",
      "",
      took,
    ]);
  });

  it("says what this run of a resumed turn took, and the whole turn", () => {
    const invocation_usage = { ...usage, tokens_in: 34, tool_calls: 0, cost_usd: 0.0001 };
    expect(endingLines({ ...completed, invocation_usage }, options).slice(-2)).toEqual([
      "turn: 2 steps · 1 tool call · 1,234 tokens in, 56 out · $0.0012",
      "this run: 0 tool calls · 34 tokens in, 56 out · $0.00010 · 2.3 s",
    ]);
  });

  it("says nothing of a cost of 0", () => {
    const spent = { ...usage, cost_usd: 0 };
    const free = { ...completed, usage: spent, invocation_usage: spent };
    expect(endingLines(free, options).at(-1)).toBe(
      "2 steps · 1 tool call · 1,234 tokens in, 56 out · 2.3 s",
    );
  });
});
