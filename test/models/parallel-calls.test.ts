import { expect, it } from "vitest";
import { parallelCallsOf } from "../../src/models/create-models.ts";

it.each([
  ["openai:gpt-4o-mini", true],
  ["openai:ft:gpt-4.1-mini:acme::id", true],
  ["openai:gpt-5", true],
  ["openai:gpt-5.5", true],
  ["openai:gpt-4", false],
  ["openai:gpt-4-turbo", false],
  ["openai:o1-mini", false],
  ["openai:o3-mini", false],
  ["openai:gpt-4o-realtime-preview", false],
  ["anthropic:claude-3-haiku-20240307", false],
  ["anthropic:claude-3-5-haiku-latest", true],
  ["anthropic:claude-opus-4-5", true],
  ["google:gemini-1.5-flash", true],
  ["google:models/gemini-2.5-pro", true],
  ["google:gemini-2.5-flash-image", false],
  ["mistral:mistral-large-latest", false],
  ["groq:llama-3.3-70b-versatile", false],
  ["ollama:gpt-4o", false],
  ["offline:rules", false],
])("of %s: %s", (ref, parallel) => {
  expect(parallelCallsOf(ref)).toBe(parallel);
});

it("is not known of a model that another server has under the name", () => {
  expect(parallelCallsOf("openai:gpt-4o", "http://127.0.0.1:8080/v1")).toBe(false);
  expect(parallelCallsOf("openai:gpt-4o", "https://api.openai.com/v1")).toBe(true);
});
