import { HumanMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { afterEach, describe, expect, it } from "vitest";
import type { LlmConfig } from "../../../src/definition/schema/agent.ts";
import type { AgentModel, ModelProgress } from "../../../src/models/agent-model.ts";
import { TokenWatch } from "../../../src/models/calls/token-watch.ts";
import { SilentModel } from "../../../src/models/failure.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";
import { Silence } from "../../helpers/openai-server.ts";
import { type DialectName, dialects, wireServer } from "../../helpers/wire/server.ts";
import { waits } from "../model-waits.ts";
import { chatOn, modelOn, refOf } from "../wire/providers.ts";

const messages = [new HumanMessage("What is 6 * 7?")];
const text = "The answer is 42, since six times seven is 42.";
const providers = Object.keys(dialects) as DialectName[];
const fallback_model = refOf("anthropic");

describe("a model that sends no token", () => {
  it.each(providers)(
    "of %s fails when the limit is over, and is disconnected",
    async (provider) => {
      const { clock, silent, call } = await asked(provider, {
        timeout: { first_token_seconds: 2 },
      });
      await expectLimit(clock, call, 2_000);
      await expect(call).rejects.toMatchObject({
        code: "model_call",
        reason: "timeout",
        transient: true,
        calls: [
          { model: refOf(provider), outcome: "timeout", latency_ms: 2_000, first_token_ms: null },
        ],
      });
      await expect(call).rejects.toThrow(
        "no token came within 2 s (llm_config.timeout.first_token_seconds)",
      );
      await silent.aborted;
      expect(clock.pending).toBe(0);
    },
  );

  it.each([
    // Served elsewhere than by OpenAI.
    ["openai:gpt-4o-mini", 300],
    ["openai:gpt-5-mini", 300],
    ["openai:o3", 300],
    ["openai:deepseek-r1", 300],
    ["anthropic:claude-sonnet-4-5", 60],
    ["google:gemini-2.5-flash", 300],
    ["google:gemini-2.0-flash", 60],
    ["mistral:mistral-small-latest", 60],
    ["mistral:magistral-small-latest", 300],
    ["groq:openai/gpt-oss-120b", 60],
    ["ollama:llama3", 300],
  ])("of %s has %i seconds by default", async (default_model, seconds) => {
    const { clock, call } = await asked("openai", { default_model });
    await expectLimit(clock, call, seconds * 1_000);
    await expect(call).rejects.toMatchObject({ reason: "timeout" });
  });

  describe("as a ready chat model", () => {
    it("has no limit", async () => {
      const { clock, silent, call } = await readyModel({});
      await expectOpen(clock, call, 3_600_000);
      silent.release("42");
      expect((await call).message.text).toBe("42");
      expect(clock.pending).toBe(0);
    });

    it("has a limit that is set", async () => {
      const { clock, call } = await readyModel({ timeout: { first_token_seconds: 2 } });
      await expectLimit(clock, call, 2_000);
      await expect(call).rejects.toMatchObject({ reason: "timeout" });
      expect(clock.pending).toBe(0);
    });

    async function readyModel(config: LlmConfig) {
      const clock = new ManualClock();
      const silent = new Silence();
      const server = await wireServer({ silent });
      open.push(server);
      const instances = { [refOf("openai")]: await chatOn("openai", server) };
      const model = await modelOn("openai", server, { clock, config, instances });
      const call = model.call({ messages }, {});
      await silent.asked;
      return { clock, silent, call };
    }
  });

  it("is asked once more, without a fallback", async () => {
    const clock = new ManualClock();
    const silences = [new Silence(), new Silence()];
    await using server = await wireServer(...silences.map((silent) => ({ silent })), { text });
    const config = { timeout: { first_token_seconds: 2 } };
    const model = await modelOn("openai", server, { clock, config, maxRetries: 5 });
    const progress = waits();
    const call = model.call({ messages, onProgress: progress.add }, {});
    const failed = call.catch((thrown: unknown) => thrown);
    await silences[0]?.asked;
    clock.advance(2_000);
    await progress.next();
    clock.advance(1_000);
    await silences[1]?.asked;
    clock.advance(2_000);
    expect(await failed).toMatchObject({ reason: "timeout", tries: 2 });
    expect(server.requests).toHaveLength(2);
    expect(clock.pending).toBe(0);
  });

  it("is not asked again where a fallback takes over", async () => {
    const clock = new ManualClock();
    const silent = new Silence();
    await using server = await wireServer({ silent }, { text });
    const config = { fallback_model, timeout: { first_token_seconds: 2 } };
    const model = await modelOn("openai", server, { clock, config, maxRetries: 5 });
    const call = model.call({ messages }, {});
    await silent.asked;
    clock.advance(2_000);
    expect(await call).toMatchObject({
      model: fallback_model,
      fallback: { from: refOf("openai"), reason: "timeout" },
      calls: [
        { outcome: "timeout", latency_ms: 2_000 },
        { outcome: "stop", latency_ms: 0 },
      ],
    });
    expect(clock.pending).toBe(0);
  });

  it("is asked again where a fallback takes over other failures only", async () => {
    const clock = new ManualClock();
    const silent = new Silence();
    await using server = await wireServer({ silent }, { text });
    const model = await modelOn("openai", server, {
      clock,
      config: {
        fallback_model,
        fallback_on: ["outage"],
        timeout: { first_token_seconds: 60 },
      },
      maxRetries: 1,
    });
    const progress = waits();
    const call = model.call({ messages, timeLeftMs: 600_000, onProgress: progress.add }, {});
    await silent.asked;
    await expectOpen(clock, call, 59_999);
    clock.advance(1);
    await progress.next();
    clock.advance(1_000);
    expect(await call).toMatchObject({ model: refOf("openai"), fallback: null });
  });

  it("has half of the time that is left before each fallback", async () => {
    const clock = new ManualClock();
    const silences = [new Silence(), new Silence(), new Silence()];
    await using server = await wireServer(...silences.map((silent) => ({ silent })));
    const config = { fallback_model: [fallback_model, refOf("google")] };
    const model = await modelOn("openai", server, { clock, config });
    const call = model.call({ messages, timeLeftMs: 10_000 }, {});
    for (const [at, ms] of [5_000, 2_500].entries()) {
      await silences[at]?.asked;
      await expectOpen(clock, call, ms - 1);
      clock.advance(1);
      await silences[at]?.aborted;
    }
    await silences[2]?.asked;
    // The last one has a little less than the rest, so that its failure names it.
    await expectLimit(clock, call, 2_375);
    await expect(call).rejects.toMatchObject({
      reason: "timeout",
      calls: [{ latency_ms: 5_000 }, { latency_ms: 2_500 }, { latency_ms: 2_375 }],
    });
    expect(clock.pending).toBe(0);
  });

  it("has its limit where that is less than half of the time", async () => {
    const { clock, call } = await asked(
      "openai",
      { fallback_model, timeout: { first_token_seconds: 2 } },
      { timeLeftMs: 10_000 },
    );
    await expectOpen(clock, call, 1_999);
    clock.advance(1);
    await expect(call).rejects.toMatchObject({ reason: "timeout", tries: 1 });
  });
});

describe("a model that sends no further token", () => {
  it.each([
    [undefined, 30],
    [4, 4],
  ])("fails after between_tokens_seconds, %s", async (between_tokens_seconds, seconds) => {
    const clock = new ManualClock();
    const pause = new Silence();
    await using server = await wireServer({ text, pause });
    const config = { timeout: { between_tokens_seconds } };
    const model = await modelOn("openai", server, { clock, config });
    const { call, progress } = await halfway(model);
    await expectLimit(clock, call, seconds * 1_000);
    await expect(call).rejects.toMatchObject({
      reason: "timeout",
      calls: [{ outcome: "timeout", latency_ms: seconds * 1_000, first_token_ms: 0 }],
    });
    await expect(call).rejects.toThrow(
      `no further token came within ${seconds} s (llm_config.timeout.between_tokens_seconds)`,
    );
    await pause.aborted;
    // No further request makes its tokens void.
    expect(progress).toEqual([]);
    expect(clock.pending).toBe(0);
  });

  it("may pause for less than the limit", async () => {
    const clock = new ManualClock();
    const pause = new Silence();
    await using server = await wireServer({ text, pause });
    const model = await modelOn("openai", server, { clock });
    const { call } = await halfway(model);
    await expectOpen(clock, call, 29_000);
    pause.release("");
    expect(await call).toMatchObject({ message: { text }, calls: [{ latency_ms: 29_000 }] });
    expect(clock.pending).toBe(0);
  });

  it("has the whole limit again after each token", async () => {
    const clock = new ManualClock();
    const limits = { firstTokenMs: 10, betweenTokensMs: 30 };
    const watch = new TokenWatch({ clock, limits, streams: true, signal: undefined });
    const call = watch.watch({}, () => new Promise<never>(() => {}));
    watch.handleLLMNewToken();
    await expectOpen(clock, call, 29);
    watch.handleChatModelStreamEvent();
    await expectOpen(clock, call, 29);
    watch.handleLLMNewToken();
    await expectLimit(clock, call, 30);
    await expect(call).rejects.toThrow(SilentModel);
    expect(watch).toMatchObject({ firstTokenMs: 0, elapsedMs: 88 });
    expect(clock.pending).toBe(0);
  });
});

describe("a slow model", () => {
  it("is reported once, after 5 seconds", async () => {
    const progress: ModelProgress[] = [];
    const onProgress = (one: ModelProgress) => void progress.push(one);
    const { clock, silent, call } = await asked("openai", {}, { onProgress });
    clock.advance(4_999);
    expect(progress).toEqual([]);
    clock.advance(1);
    expect(progress).toEqual([{ type: "slow", model: refOf("openai") }]);
    clock.advance(20_000);
    silent.release("42");
    expect(await call).toMatchObject({ calls: [{ latency_ms: 25_000, first_token_ms: 25_000 }] });
    expect(progress).toHaveLength(1);
  });

  it("is not reported after its first token", async () => {
    const clock = new ManualClock();
    const pause = new Silence();
    await using server = await wireServer({ text, pause });
    const { call, progress } = await halfway(await modelOn("openai", server, { clock }));
    await expectOpen(clock, call, 20_000);
    pause.release("");
    await call;
    expect(progress).toEqual([]);
  });
});

describe("timers", () => {
  it.each(["released", "aborted"] as const)("are gone when a call is %s", async (end) => {
    const controller = new AbortController();
    const { signal } = controller;
    const { clock, silent, call } = await asked("openai", {}, {}, { signal });
    expect(clock.pending).toBe(2);
    const reason = new Error("The turn was cancelled.");
    if (end === "aborted") controller.abort(reason);
    else silent.release("42");
    const outcome = await call.then(
      ({ message }) => message.text,
      (thrown: unknown) => thrown,
    );
    expect(outcome).toBe(end === "aborted" ? reason : "42");
    expect(clock.pending).toBe(0);
  });
});

const open: AsyncDisposable[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server[Symbol.asyncDispose]()));
});

/** A call of a model whose server has received it, and is silent. */
async function asked(
  provider: DialectName,
  config: LlmConfig = {},
  request: object = {},
  callConfig: RunnableConfig = {},
) {
  const clock = new ManualClock();
  const silent = new Silence();
  const server = await wireServer({ silent });
  open.push(server);
  const model = await modelOn(provider, server, { clock, config });
  const call = model.call({ messages, ...request }, callConfig);
  await silent.asked;
  return { clock, silent, call };
}

/** A call whose client has half of a streamed reply. */
async function halfway(model: AgentModel) {
  const progress: ModelProgress[] = [];
  let seen = "";
  let isHalf: () => void = () => {};
  const half = new Promise<void>((resolve) => {
    isHalf = resolve;
  });
  const handleLLMNewToken = (token: string) => {
    seen += token;
    // Of 14 parts: all but the first have a word.
    if (seen === "The answer is 42, since six") isHalf();
  };
  const onProgress = (one: ModelProgress) => void progress.push(one);
  const call = model.call({ messages, onProgress }, { callbacks: [{ handleLLMNewToken }] });
  await half;
  await new Promise(setImmediate);
  return { call, progress };
}

/** Expects that a call is under way when so much time has passed. */
async function expectOpen(clock: ManualClock, call: Promise<unknown>, ms: number): Promise<void> {
  let isSettled = false;
  const settle = () => {
    isSettled = true;
  };
  call.then(settle, settle);
  clock.advance(ms);
  for (let i = 0; i < 3; i += 1) await new Promise(setImmediate);
  expect(isSettled).toBe(false);
}

/** Lets so much time pass, and expects that the call was under way before its last millisecond. */
async function expectLimit(clock: ManualClock, call: Promise<unknown>, ms: number): Promise<void> {
  await expectOpen(clock, call, ms - 1);
  clock.advance(1);
}
