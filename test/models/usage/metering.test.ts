import { AIMessage, HumanMessage, type UsageMetadata } from "@langchain/core/messages";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { meterReply } from "../../../src/models/usage/metering.ts";
import type { Price } from "../../../src/models/usage/prices.ts";

const request = { messages: [new HumanMessage("Hello")] };
const price: Price = { input: 2, output: 10, cached_input: 0.5, cache_write: 4 };

const warn = vi.spyOn(process, "emitWarning");
beforeEach(() => void warn.mockReset().mockReturnValue());
afterEach(() => void warn.mockReset());

function usageOf(given: Partial<UsageMetadata>, ref = "acme:x", of: Price | null = price) {
  const usage_metadata = { input_tokens: 0, output_tokens: 0, total_tokens: 0, ...given };
  const message = new AIMessage({ content: "Hi", usage_metadata });
  return meterReply(message, request, { ref, price: of });
}

describe("the usage of a reply", () => {
  it("counts cached and reasoning tokens once, at their prices", () => {
    const usage = usageOf({
      input_tokens: 1_000,
      output_tokens: 100,
      input_token_details: { cache_read: 600, cache_creation: 200 },
      output_token_details: { reasoning: 40 },
    });
    expect(usage).toEqual({
      tokens_in: 1_000,
      cached_tokens: 600,
      tokens_out: 100,
      reasoning_tokens: 40,
      llm_calls: 1,
      tool_calls: 0,
      cost_usd: expect.closeTo((200 * 2 + 600 * 0.5 + 200 * 4 + 100 * 10) / 1e6, 12),
    });
  });

  it("has Gemini's thoughts as output", () => {
    const given = { input_tokens: 1_000, output_tokens: 100, total_tokens: 1_500 };
    expect(usageOf(given, "google:gemini-2.5-pro")).toMatchObject({
      tokens_out: 500,
      reasoning_tokens: 400,
      cost_usd: expect.closeTo(0.007, 12),
    });
    expect(usageOf(given)).toMatchObject({ tokens_out: 100, reasoning_tokens: 0 });
  });

  it.each([
    [{ cache_read: -5, cache_creation: Number.NaN }, { cached_tokens: 0 }],
    [{ cache_read: 5_000, cache_creation: 5_000 }, { cached_tokens: 1_000 }],
    [{ cache_read: "7" as unknown as number }, { cached_tokens: 0 }],
  ])("never costs less than nothing: details %j", (input_token_details, expected) => {
    const usage = usageOf({ input_tokens: 1_000, output_tokens: -3, input_token_details });
    expect(usage).toMatchObject({ tokens_in: 1_000, tokens_out: 0, ...expected });
    expect(usage.cost_usd).toBeGreaterThan(0);
  });

  it("is counted where the provider gives no figures", () => {
    const usage = usageOf({}, "openai:gpt-4o");
    expect(usage).toMatchObject({ tokens_in: 5, cached_tokens: 0, tokens_out: 5 });
    expect(usage.cost_usd).toBeCloseTo(60 / 1e6, 12);
    expect(warn).not.toHaveBeenCalled();
  });
});

describe("a model without a known price", () => {
  it("has an unknown cost, which is stated once in a process", () => {
    const given = { input_tokens: 10, output_tokens: 1 };
    const [usage] = [usageOf(given, "acme:unpriced", null), usageOf(given, "acme:unpriced", null)];
    expect(usage).toMatchObject({ tokens_in: 10, cost_usd: null });
    expect(warn.mock.calls).toEqual([
      [
        'The price of "acme:unpriced" is not known: its cost_usd is null. Set modelOptions.prices["acme:unpriced"], or STRATAGRAPH_PRICES to a file of prices.',
        { type: "StratagraphWarning", code: "STRATAGRAPH_UNKNOWN_PRICE" },
      ],
    ]);
  });
});
