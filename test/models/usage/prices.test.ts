import { describe, expect, it } from "vitest";
import { costOf, listPrices, priceOf } from "../../../src/models/usage/prices.ts";

const tokens = { input: 1_000_000, cached: 0, cacheWrites: 0, output: 100_000, reasoning: 0 };

describe("the cost of a call", () => {
  it("is computed from US dollars for a million tokens", () => {
    expect(costOf({ input: 2.5, output: 10 }, tokens)).toBe(3.5);
  });

  it("has each token once, at the price of its kind", () => {
    const price = { input: 2, output: 10, cached_input: 0.5, cache_write: 4, reasoning: 20 };
    const parts = { cached: 400_000, cacheWrites: 100_000, reasoning: 50_000 };
    expect(costOf(price, { ...tokens, ...parts })).toBeCloseTo(1 + 0.2 + 0.4 + 0.5 + 1);
  });

  it("has the price of input and output for kinds without a price of their own", () => {
    const parts = { cached: 400_000, cacheWrites: 100_000, reasoning: 50_000 };
    expect(costOf({ input: 2.5, output: 10 }, { ...tokens, ...parts })).toBeCloseTo(3.5);
  });
});

describe("the price of a model", () => {
  it.each([
    ["openai:gpt-4o-mini", 0.15],
    ["openai:gpt-4o-mini-2024-07-18", 0.15],
    ["openai:gpt-4-0613", 30],
    ["anthropic:claude-3-5-sonnet-20241022", 3],
    ["anthropic:claude-3-5-haiku-latest", 0.8],
    ["google:models/gemini-2.5-flash", 0.3],
  ])("holds for dated variants: %s", (ref, input) => {
    expect(priceOf(ref, listPrices)?.input).toBe(input);
  });

  it("is that of a dated variant itself where it has one", () => {
    expect(priceOf("openai:gpt-4o-2024-05-13", listPrices)?.input).toBe(5);
  });

  it.each(["ollama:llama3:latest", "offline:rules"])("is 0 for the local model %s", (ref) => {
    expect(priceOf(ref, listPrices)).toEqual({ input: 0, output: 0 });
  });

  it.each([
    "openai:gpt-4o-mini-tts",
    "fake:x",
    "fake:constructor",
    "constructor",
    "ollama:gpt-oss:120b-cloud",
    "ollama:glm-4.6:cloud",
  ])("is not known for %s", (ref) => {
    expect(priceOf(ref, listPrices)).toBeNull();
  });

  it("is not known for a model that Ollama hosts, unless it is given", () => {
    const isHosted = true;
    expect(priceOf("ollama:llama3", listPrices, { isHosted })).toBeNull();
    const prices = { "ollama:llama3": { input: 1, output: 2 } };
    expect(priceOf("ollama:llama3", prices, { isHosted })?.input).toBe(1);
  });
});
