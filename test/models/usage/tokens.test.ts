import fc from "fast-check";
import { Tiktoken } from "js-tiktoken/lite";
import cl100k from "js-tiktoken/ranks/cl100k_base";
import o200k from "js-tiktoken/ranks/o200k_base";
import { describe, expect, it } from "vitest";
import { countTokens, tokenCounter } from "../../../src/models/usage/tokens.ts";
import { anyCharacter } from "../../helpers/any-character.ts";

const gpt4o = "openai:gpt-4o";

describe("countTokens", () => {
  it("is exact for OpenAI's models", () => {
    expect(countTokens("", gpt4o)).toBe(0);
    expect(countTokens("hello world", gpt4o)).toBe(2);
    expect(countTokens("Überraschung!", gpt4o)).toBe(4);
    expect(countTokens("Überraschung!", "openai:gpt-4")).toBe(6);
  });

  it("counts the text of special tokens as text", () => {
    expect(countTokens("<|endoftext|>", gpt4o)).toBe(7);
  });

  it("counts lone surrogates", () => {
    expect(countTokens("a\ud800b", gpt4o)).toBeGreaterThan(1);
  });

  it("takes other models for the newest encoding", () => {
    const text = "Some words in a row";
    expect(countTokens(text, "ollama:llama3")).toBe(countTokens(text, gpt4o));
  });

  it("is the same for a long text of short words as for its parts", () => {
    const count = tokenCounter(gpt4o);
    const line = "The quick brown fox jumps over the lazy dog.\n";
    expect(count(line.repeat(1_000))).toBe(count(line) * 1_000);
  });

  it.each([
    ["letters", "a", 125_000],
    ["spaces", " ", 7_813],
    ["signs", "!", 62_500],
    ["digits", "1", 333_334],
  ])("ends soon on a million equal %s", (_, sign, tokens) => {
    const count = tokenCounter(gpt4o);
    const counted = count(sign.repeat(1_000_000));
    expect(counted).toBeGreaterThan(tokens * 0.98);
    expect(counted).toBeLessThan(tokens * 1.1);
  });

  it.each([
    [4, ["gpt-4o-mini", "gpt-4.1", "gpt-4.5-preview", "gpt-5", "o1", "o3-mini"]],
    [6, ["gpt-4", "gpt-4-turbo", "gpt-4-0613", "gpt-3.5-turbo", "ft:gpt-3.5-turbo:a"]],
  ])("takes %d tokens for a word by the encoding of %j", (tokens, names) => {
    const counted = names.map((name) => countTokens("Überraschung!", `openai:${name}`));
    expect(new Set(counted)).toEqual(new Set([tokens]));
  });

  it("is one function for all models of an encoding", () => {
    expect(tokenCounter("openai:gpt-5")).toBe(tokenCounter(gpt4o));
    expect(tokenCounter("openai:gpt-4")).not.toBe(tokenCounter(gpt4o));
  });

  it("counts a text beyond two million characters by a sample", () => {
    const count = tokenCounter(gpt4o);
    const line = "The quick brown fox jumps over the lazy dog \u{1f98a}.\n";
    const lines = Math.ceil(4_000_000 / line.length);
    const exact = count(line) * lines;
    const estimated = count(line.repeat(lines));
    expect(Math.abs(estimated - exact) / exact).toBeLessThan(0.01);
    expect(count(line.repeat(lines))).toBe(estimated);
  });

  it("ends soon on fifty million characters", () => {
    const counted = tokenCounter(gpt4o)("a".repeat(50_000_000));
    expect(counted).toBeGreaterThan(6_000_000);
    expect(counted).toBeLessThan(7_000_000);
  });

  it.each([
    ["o200k_base", o200k, gpt4o],
    ["cl100k_base", cl100k, "openai:gpt-4"],
  ])("counts as the encoder of js-tiktoken by %s", (_, ranks, ref) => {
    const encoder = new Tiktoken(ranks);
    const count = tokenCounter(ref);
    const word = fc.constantFrom(
      "don't",
      "I'LL",
      " the",
      "  ",
      "\r\n",
      "1234",
      "//\n",
      "\ufeff",
      "日本",
      "👩‍👩‍👧",
      "<|endoftext|>",
    );
    const text = fc.array(fc.oneof(word, fc.string({ unit: anyCharacter, maxLength: 8 })), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(text, (parts) => {
        const whole = parts.join("");
        expect(count(whole)).toBe(encoder.encode(whole, [], []).length);
      }),
      { numRuns: 500 },
    );
  });

  it("never throws, and counts no more than bytes", () => {
    const count = tokenCounter(gpt4o);
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 600 }), (text) => {
        const tokens = count(text);
        expect(tokens).toBeGreaterThanOrEqual(text === "" ? 0 : 1);
        expect(tokens).toBeLessThanOrEqual(Buffer.byteLength(text) + 1);
      }),
      { numRuns: 200 },
    );
  });
});
