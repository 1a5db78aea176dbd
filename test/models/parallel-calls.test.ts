import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { describe, expect, it } from "vitest";
import {
  createModels,
  type CreateModelsOptions,
  parallelCallsOf,
} from "../../src/models/create-models.ts";
import { ManualClock } from "../helpers/manual-clock.ts";

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

describe("a model of which nothing is known", () => {
  const calls = (count: number) =>
    new AIMessage({
      content: "",
      tool_calls: Array.from({ length: count }, (_, i) => ({
        id: `c${i}`,
        name: "look",
        args: {},
      })),
    });
  const request = { messages: [new HumanMessage("Look")] };
  const resolve = (options: Partial<CreateModelsOptions>, fallback_model?: string) =>
    createModels({ env: {}, clock: new ManualClock(), maxRetries: 0, ...options }).resolve({
      default_model: "fake:a",
      ...(fallback_model !== undefined && { fallback_model }),
    });

  it("counts as one that calls in parallel after a reply with several calls", async () => {
    const chat = fakeModel().respond(calls(1)).respond(calls(2)).respond(calls(1));
    const model = await resolve({ instances: { "fake:a": chat } });
    const seen = [model.parallelCalls];
    for (let reply = 0; reply < 3; reply += 1) {
      await model.call(request, {});
      seen.push(model.parallelCalls);
    }
    expect(seen).toEqual([false, false, true, true]);
  });

  it("does not where the caller says that it calls one tool at a time", async () => {
    const instances = { "fake:a": fakeModel().respond(calls(2)) };
    const model = await resolve({ instances, parallelCalls: { "fake:a": false } });
    await model.call(request, {});
    expect(model.parallelCalls).toBe(false);
  });

  it("does not after a reply of its fallback", async () => {
    const down = fakeModel().alwaysThrow(Object.assign(new Error("Down"), { status: 503 }));
    const instances = { "fake:a": down, "fake:b": fakeModel().respond(calls(2)) };
    const model = await resolve({ instances }, "fake:b");
    await model.call(request, {});
    expect(model.parallelCalls).toBe(false);
  });
});
