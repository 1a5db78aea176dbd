import { describe, expect, it } from "vitest";
import { ModelCallError } from "../../src/models/errors.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { openAIServer, tooLong } from "../helpers/openai-server.ts";
import { waits } from "./model-waits.ts";
import { calculator, key, messages, modelOn, streamed } from "./openai-model.ts";

describe("a model that fails", () => {
  const failures = [
    ["a 500", { status: 500 }, "outage", 500],
    ["a 503", { status: 503 }, "outage", 503],
    ["a 429", { status: 429 }, "rate_limit", 429],
    ["a used up quota", { status: 429, code: "insufficient_quota" }, "quota", 429],
    ["half a reply", { half: "The answer is", end: "destroyed" }, "outage", null],
    ["a context overflow", tooLong, "context_overflow", 400],
    ["a page instead of a reply", { body: "<html></html>", type: "text/html" }, "bad_reply", null],
    ["broken JSON", { body: '{"choices": [' }, "bad_reply", null],
    ["a reply without choices", { body: '{"choices": []}' }, "bad_reply", null],
  ] as const;

  it.each(failures)("names %s", async (_, answer, reason, status) => {
    await using server = await openAIServer(answer);
    const model = await modelOn(server);
    const failed = await model.call({ messages }, {}).catch((thrown: unknown) => thrown);
    expect(failed).toBeInstanceOf(ModelCallError);
    expect(failed).toMatchObject({
      code: "model_call",
      kind: "run",
      ref: "openai:gpt-4o-mini",
      reason,
      status,
      tries: 1,
      fallbacks: [],
    });
  });

  it.each(failures)("falls back on %s", async (_, answer, reason) => {
    await using server = await openAIServer(answer);
    const model = await modelOn(server, { fallback: "offline:rules" });
    const reply = await model.call({ messages, tools: [calculator] }, {});
    expect(reply).toMatchObject({
      model: "offline:rules",
      fallback: { from: "openai:gpt-4o-mini", reason },
      message: { tool_calls: [{ name: "calculator", args: { expression: "6 * 7" } }] },
      usage: { llm_calls: 2, cost_usd: 0 },
    });
  });

  it.each([
    ["destroyed", "outage"],
    ["closed", "outage"],
  ] as const)("falls back on half a stream that is %s", async (end, reason) => {
    await using server = await openAIServer({ half: "The answer is not known yet", end });
    const model = await modelOn(server, { fallback: "offline:rules" });
    const { reply } = await streamed(model);
    expect(reply).toMatchObject({ fallback: { from: "openai:gpt-4o-mini", reason } });
  });

  it("falls back on a stream of nothing", async () => {
    await using server = await openAIServer({
      body: "data: [DONE]\n\n",
      type: "text/event-stream",
    });
    const { reply } = await streamed(await modelOn(server, { fallback: "offline:rules" }));
    expect(reply).toMatchObject({ fallback: { reason: "bad_reply" } });
  });

  it("falls back when nobody listens", async () => {
    const server = await openAIServer();
    await server.close();
    const model = await modelOn(server, { fallback: "offline:rules" });
    expect(await model.call({ messages }, {})).toMatchObject({ fallback: { reason: "outage" } });
  });

  it.each([
    [401, "auth"],
    [403, "auth"],
    [400, "bad_request"],
    [422, "bad_request"],
  ])("does not fall back on %i", async (status, reason) => {
    await using server = await openAIServer({ status });
    const model = await modelOn(server, { fallback: "offline:rules", maxRetries: 2 });
    const call = model.call({ messages }, {});
    await expect(call).rejects.toMatchObject({ code: "model_call", reason, status, tries: 1 });
    expect(server.requests).toHaveLength(1);
  });

  it("says what happened without the key", async () => {
    await using server = await openAIServer({
      status: 401,
      message: `Incorrect API key provided: ${key}.`,
    });
    const model = await modelOn(server);
    const failed = await model.call({ messages }, {}).catch((thrown: unknown) => thrown as Error);
    expect((failed as Error).message).toBe(
      'The model "openai:gpt-4o-mini" did not answer: the API key was not accepted (HTTP 401): ' +
        "401 Incorrect API key provided: [redacted]. Check the provider's API key in the environment.",
    );
    expect(JSON.stringify(Object.entries((failed as Error).cause as object))).not.toContain(key);
    expect(String((failed as Error).cause)).not.toContain(key);
  });

  it("names both models when neither answers", async () => {
    await using server = await openAIServer({ status: 500 }, { status: 503 });
    const model = await modelOn(server, { fallback: "openai:gpt-4o" });
    await expect(model.call({ messages }, {})).rejects.toMatchObject({
      ref: "openai:gpt-4o-mini",
      reason: "outage",
      status: 500,
      fallbacks: [{ ref: "openai:gpt-4o", reason: "outage", status: 503 }],
      message:
        'The model "openai:gpt-4o-mini" did not answer: it could not be reached or broke off (HTTP 500): ' +
        '500 Scripted status 500. Its fallback "openai:gpt-4o" did not answer: it could not be reached or ' +
        "broke off (HTTP 503): 503 Scripted status 503. Check the server and the network, or name a " +
        "fallback_model in llm_config.",
    });
  });
});

describe("retries", () => {
  it("waits as long as a rate limit asks, then tries again", async () => {
    await using server = await openAIServer({ status: 429, retryAfter: 20 }, { text: "42" });
    const clock = new ManualClock();
    const model = await modelOn(server, { maxRetries: 1, clock });
    const progress = waits();
    const call = model.call({ messages, onProgress: progress.add }, {});
    await progress.next();
    clock.advance(19_999);
    expect(server.requests).toHaveLength(1);
    clock.advance(1);
    expect(await call).toMatchObject({ usage: { llm_calls: 2 }, fallback: null });
    expect(server.requests).toHaveLength(2);
  });

  it("backs off twice as long each time, then falls back", async () => {
    await using server = await openAIServer({ status: 500 }, { status: 502 }, { status: 429 });
    const clock = new ManualClock();
    const model = await modelOn(server, { fallback: "offline:rules", maxRetries: 2, clock });
    const progress = waits();
    const call = model.call({ messages, onProgress: progress.add }, {});
    await progress.next();
    clock.advance(375);
    await progress.next();
    clock.advance(750);
    expect(await call).toMatchObject({
      model: "offline:rules",
      fallback: { from: "openai:gpt-4o-mini", reason: "rate_limit" },
      usage: { llm_calls: 4 },
    });
    expect(clock.monotonic()).toBe(1_125);
  });

  it("does not wait for more than a minute", async () => {
    await using server = await openAIServer({ status: 429, retryAfter: 3_600 });
    const model = await modelOn(server, { maxRetries: 2 });
    await expect(model.call({ messages }, {})).rejects.toMatchObject({
      reason: "rate_limit",
      tries: 1,
    });
  });

  it("stops waiting when the signal aborts", async () => {
    await using server = await openAIServer({ status: 429, retryAfter: 20 });
    const clock = new ManualClock();
    const model = await modelOn(server, { maxRetries: 1, clock });
    const controller = new AbortController();
    const progress = waits();
    const call = model.call({ messages, onProgress: progress.add }, { signal: controller.signal });
    await progress.next();
    const reason = new Error("Cancelled.");
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect(clock.pending).toBe(0);
  });
});
