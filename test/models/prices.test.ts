import { describe, expect, it } from "vitest";
import { costOf, listPrices, priceOf } from "../../src/models/prices.ts";

describe("prices", () => {
  it("are US dollars for a million tokens", () => {
    expect(costOf({ input: 2.5, output: 10 }, 1_000_000, 100_000)).toBe(3.5);
  });

  it.each([
    ["openai:gpt-4o-mini", 0.15],
    ["openai:gpt-4o-mini-2024-07-18", 0.15],
    ["openai:gpt-4-0613", 30],
    ["anthropic:claude-3-5-sonnet-20241022", 3],
    ["anthropic:claude-3-5-haiku-latest", 0.8],
  ])("hold for dated variants: %s", (ref, input) => {
    expect(priceOf(ref, listPrices).input).toBe(input);
  });

  it.each(["openai:gpt-4o-mini-tts", "ollama:llama3:latest", "offline:rules", "fake:x"])(
    "are 0 for %s",
    (ref) => {
      expect(priceOf(ref, listPrices)).toEqual({ input: 0, output: 0 });
    },
  );
});
