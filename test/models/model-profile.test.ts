import { beforeEach, describe, expect, it, vi } from "vitest";
import { modelProfile, type ModelProfileOptions } from "../../src/models/model-profile.ts";
import { tokenCounter } from "../../src/models/usage/tokens.ts";

const warn = vi.spyOn(process, "emitWarning");
beforeEach(() => {
  warn.mockReset().mockImplementation(() => undefined);
});

function sizes(ref: string, options?: ModelProfileOptions): [window: number, maxOutput: number] {
  const { window, maxOutput } = modelProfile(ref, options);
  return [window, maxOutput];
}

describe("a model that is known", () => {
  it.each<[string, number, number]>([
    ["openai:gpt-3.5-turbo", 16_385, 4_096],
    ["openai:gpt-4", 8_192, 2_048],
    ["openai:gpt-4-turbo-2024-04-09", 128_000, 4_096],
    ["openai:gpt-4o-mini", 128_000, 16_384],
    ["openai:ft:gpt-4o-mini-2024-07-18:acme::id", 128_000, 16_384],
    ["openai:gpt-4.1-nano", 1_047_576, 32_768],
    ["openai:gpt-5-mini", 400_000, 128_000],
    ["openai:gpt-5.1-codex", 400_000, 128_000],
    ["openai:gpt-5-chat-latest", 128_000, 16_384],
    ["openai:gpt-5.4-nano", 400_000, 128_000],
    ["openai:gpt-5.5", 1_050_000, 128_000],
    ["openai:o1-mini", 128_000, 64_000],
    ["openai:o4-mini-2025-04-16", 200_000, 100_000],
    ["anthropic:claude-3-haiku-20240307", 200_000, 4_096],
    ["anthropic:claude-3-5-sonnet-latest", 200_000, 8_192],
    ["anthropic:claude-opus-4-1-20250805", 200_000, 32_000],
    ["anthropic:claude-opus-4-20250514", 200_000, 32_000],
    ["anthropic:claude-opus-4-5", 200_000, 64_000],
    ["anthropic:claude-sonnet-4-5-20250929", 200_000, 64_000],
    ["google:gemini-1.5-pro", 2_097_152, 8_192],
    ["google:models/gemini-2.5-flash", 1_048_576, 65_536],
    ["google:gemini-2.5-flash-image", 32_768, 4_096],
    ["mistral:mistral-large-latest", 128_000, 4_096],
    ["mistral:mistral-large-2402", 32_000, 4_096],
    ["groq:llama-3.3-70b-versatile", 131_072, 32_768],
    ["groq:llama-3.1-8b-instant", 131_072, 4_096],
    ["groq:openai/gpt-oss-120b", 131_072, 65_536],
    ["offline:rules", 128_000, 4_096],
  ])("%s reads %d tokens and answers with up to %d", (ref, window, maxOutput) => {
    expect(sizes(ref)).toEqual([window, maxOutput]);
    expect(warn).not.toHaveBeenCalled();
  });

  it("is counted by its own tokenizer, and nothing is assumed", () => {
    for (const ref of [
      "openai:gpt-4",
      "openai:gpt-4o",
      "groq:openai/gpt-oss-20b",
      "offline:rules",
    ]) {
      expect(modelProfile(ref)).toMatchObject({ ref, count: tokenCounter(ref), notes: [] });
    }
  });

  it("is said to be counted by another model's tokenizer where it is", () => {
    expect(modelProfile("anthropic:claude-sonnet-4-5").notes).toEqual([
      'Tokens of "anthropic:claude-sonnet-4-5" are counted by o200k_base, an approximation.',
    ]);
  });
});

describe("a reply", () => {
  it("is at most what the definition allows", () => {
    expect(sizes("openai:gpt-4o", { max_tokens: 500 })).toEqual([128_000, 500]);
    expect(sizes("openai:gpt-4o", { max_tokens: 50_000 })).toEqual([128_000, 16_384]);
    expect(sizes("ollama:llama3", { max_tokens: 1_000 })).toEqual([4_096, 1_000]);
  });

  it("is limited by num_predict before max_tokens, and by nothing where that is not positive", () => {
    expect(sizes("ollama:llama3", { max_tokens: 1_000, num_predict: 200 })[1]).toBe(200);
    expect(sizes("ollama:llama3", { max_tokens: 200, num_predict: -1 })[1]).toBe(1_024);
  });

  it("leaves half of the window to what is read", () => {
    expect(sizes("ollama:llama3", { max_tokens: 8_000 })).toEqual([4_096, 2_048]);
    expect(sizes("openai:gpt-4o", { window: 1_000 })).toEqual([1_000, 500]);
    expect(sizes("fake:tiny", { window: 1 })).toEqual([1, 1]);
  });
});

describe("a model of Ollama's", () => {
  it("has the server's default window, and a note of it without a warning", () => {
    const { window, notes } = modelProfile("ollama:qwen3");
    expect(window).toBe(4_096);
    expect(notes[0]).toBe(
      'The window of "ollama:qwen3" is taken to be Ollama\'s default of 4,096 tokens; set llm_config.num_ctx to use more.',
    );
    expect(warn).not.toHaveBeenCalled();
  });

  it("has the window that the definition asks for, before the one that the program names", () => {
    expect(modelProfile("ollama:qwen3", { num_ctx: 16_000, window: 32_000 }).window).toBe(16_000);
    expect(modelProfile("ollama:qwen3", { window: 32_000 })).toMatchObject({
      window: 32_000,
      notes: ['Tokens of "ollama:qwen3" are counted by o200k_base, an approximation.'],
    });
  });
});

describe("an unknown model", () => {
  it("is assumed to have 32,768 tokens, which is told in a note and warned of once", () => {
    const { window, maxOutput, notes } = modelProfile("acme:warned-once");
    modelProfile("acme:warned-once", { max_tokens: 10 });
    expect([window, maxOutput]).toEqual([32_768, 4_096]);
    expect(notes[0]).toBe(
      'The window of "acme:warned-once" is not known: 32,768 tokens are assumed; set modelOptions.windows["acme:warned-once"] to what it has.',
    );
    expect(notes).toHaveLength(2);
    expect(warn.mock.calls).toEqual([
      [notes[0], { type: "StratagraphWarning", code: "STRATAGRAPH_APPROXIMATION" }],
    ]);
  });

  it("has the window that it is said to have, without a warning", () => {
    expect(modelProfile("acme:two", { window: 64_000 }).window).toBe(64_000);
    expect(warn).not.toHaveBeenCalled();
  });
});

it("is the same object for the same model and options", () => {
  const one = modelProfile("openai:gpt-4o", { max_tokens: 5 });
  expect(modelProfile("openai:gpt-4o", { max_tokens: 5, window: undefined })).toBe(one);
  expect(modelProfile("openai:gpt-4o")).not.toBe(one);
});
