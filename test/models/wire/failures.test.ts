import { describe, expect, it } from "vitest";
import { classifyFailure, type Failure } from "../../../src/models/failure.ts";
import type { FailureReason } from "../../../src/state/usage.ts";
import { Silence } from "../../helpers/openai-server.ts";
import type { Refusal, WireEntry } from "../../helpers/wire/script.ts";
import { type DialectName, wireServer } from "../../helpers/wire/server.ts";
import { ask, chatOn, messages, modelOn, type Way, ways } from "./providers.ts";

const providers = [
  "openai",
  "anthropic",
  "google",
  "mistral",
  "groq",
  "ollama",
  "bedrock",
] as const;

const refusals: readonly (readonly [DialectName, Refusal, FailureReason, number, boolean])[] = [
  ["openai", "auth", "auth", 401, false],
  ["openai", "forbidden", "model_not_found", 403, false],
  ["openai", "no_model", "model_not_found", 404, false],
  ["openai", "invalid", "bad_request", 400, false],
  ["openai", "rate_limit", "rate_limit", 429, true],
  ["openai", "quota", "quota", 429, false],
  ["openai", "overflow", "context_overflow", 400, false],
  ["openai", "server", "outage", 500, true],
  ["openai", "overloaded", "outage", 503, true],
  ["anthropic", "auth", "auth", 401, false],
  ["anthropic", "forbidden", "auth", 403, false],
  ["anthropic", "no_model", "model_not_found", 404, false],
  ["anthropic", "invalid", "bad_request", 400, false],
  ["anthropic", "rate_limit", "rate_limit", 429, true],
  ["anthropic", "quota", "quota", 400, false],
  ["anthropic", "overflow", "context_overflow", 400, false],
  ["anthropic", "server", "outage", 500, true],
  ["anthropic", "overloaded", "outage", 529, true],
  ["google", "auth", "auth", 400, false],
  ["google", "forbidden", "auth", 403, false],
  ["google", "no_model", "model_not_found", 404, false],
  ["google", "invalid", "bad_request", 400, false],
  ["google", "rate_limit", "rate_limit", 429, true],
  ["google", "quota", "quota", 429, false],
  ["google", "overflow", "context_overflow", 400, false],
  ["google", "server", "outage", 500, true],
  ["google", "overloaded", "outage", 503, true],
  ["mistral", "auth", "auth", 401, false],
  ["mistral", "forbidden", "auth", 403, false],
  ["mistral", "no_model", "model_not_found", 400, false],
  ["mistral", "invalid", "bad_request", 422, false],
  ["mistral", "rate_limit", "rate_limit", 429, true],
  ["mistral", "quota", "quota", 402, false],
  ["mistral", "overflow", "context_overflow", 400, false],
  ["mistral", "server", "outage", 500, true],
  ["mistral", "overloaded", "outage", 503, true],
  ["groq", "auth", "auth", 401, false],
  ["groq", "forbidden", "auth", 403, false],
  ["groq", "no_model", "model_not_found", 404, false],
  ["groq", "invalid", "bad_request", 400, false],
  ["groq", "rate_limit", "rate_limit", 429, true],
  ["groq", "overflow", "context_overflow", 400, false],
  ["groq", "server", "outage", 500, true],
  ["groq", "overloaded", "outage", 503, true],
  ["groq", "bad_call", "bad_reply", 400, true],
  ["ollama", "auth", "auth", 401, false],
  ["ollama", "no_model", "model_not_found", 404, false],
  ["ollama", "invalid", "bad_request", 400, false],
  ["ollama", "rate_limit", "rate_limit", 429, true],
  ["ollama", "overflow", "context_overflow", 400, false],
  ["ollama", "server", "outage", 500, true],
  ["ollama", "overloaded", "outage", 503, true],
  ["bedrock", "auth", "auth", 403, false],
  ["bedrock", "forbidden", "auth", 403, false],
  ["bedrock", "no_model", "model_not_found", 404, false],
  ["bedrock", "invalid", "model_not_found", 400, false],
  ["bedrock", "rate_limit", "rate_limit", 429, true],
  ["bedrock", "quota", "quota", 400, false],
  ["bedrock", "overflow", "context_overflow", 400, false],
  ["bedrock", "server", "outage", 500, true],
  ["bedrock", "overloaded", "outage", 503, true],
];

describe("a refusal", () => {
  it.each(refusals)(
    "of %s, %s, is %s with %i",
    async (provider, refuse, reason, status, transient) => {
      for (const way of ways) {
        const failure = await failureOf(way, provider, { refuse });
        expect(failure).toMatchObject({ reason, status, transient, retryAfterMs: null });
      }
    },
  );

  // Bedrock does not say.
  it.each(providers.filter((provider) => provider !== "bedrock"))(
    "of %s says when to ask again",
    async (provider) => {
      for (const way of ways) {
        const failure = await failureOf(way, provider, { refuse: "rate_limit", retryAfter: 20 });
        expect(failure).toMatchObject({ reason: "rate_limit", retryAfterMs: 20_000 });
      }
    },
  );
});

describe("a reply that breaks off", () => {
  const cuts = providers.flatMap((provider) =>
    (["destroyed", "closed"] as const).map((cut) => [provider, cut] as const),
  );
  const text = "The answer is 42, since six times seven is 42.";

  it.each(cuts)("of %s in a stream, %s, is an outage", async (provider, cut) => {
    // OpenAI's are in openai-failures.test.ts.
    const failure = await failureOf("streamed", provider, { text, cut });
    expect(failure).toMatchObject({ reason: "outage", transient: true });
  });

  it.each(cuts)("of %s in a whole, %s, is no reply", async (provider, cut) => {
    const failure = await failureOf("whole", provider, { text, cut });
    // Half a body that ends politely is no JSON, nor is any half to AWS's client. Ollama streams always.
    const isOutage = provider === "ollama" || (cut === "destroyed" && provider !== "bedrock");
    expect(failure.reason).toBe(isOutage ? "outage" : "bad_reply");
  });

  it.each(["openai", "anthropic", "google", "groq", "ollama", "bedrock"] as const)(
    "of %s with an error in the stream is an outage",
    async (provider) => {
      const failure = await failureOf("streamed", provider, { text, cut: "error" });
      expect(failure).toMatchObject({ reason: "outage" });
    },
  );
});

describe("a signal", () => {
  const each = providers.flatMap((provider) => ways.map((way) => [provider, way] as const));

  it.each(each)("ends a request to %s, %s", async (provider, way) => {
    const silent = new Silence();
    await using server = await wireServer({ silent });
    const model = await modelOn(provider, server);
    const controller = new AbortController();
    const { signal } = controller;
    const callbacks = way === "streamed" ? [streaming] : [];
    const call = model.call({ messages }, { signal, callbacks });
    await silent.asked;
    const reason = new Error("The turn's time is over.");
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    await silent.aborted;
    expect(server.requests).toHaveLength(1);
  });

  it.each(providers)("does not change a reply of %s", async (provider) => {
    await using server = await wireServer({ text: "The answer is 42." });
    const model = await modelOn(provider, server);
    const { signal } = new AbortController();
    const { message } = await model.call({ messages }, { signal });
    expect(message.text).toBe("The answer is 42.");
  });

  it.each(providers)("is not needed to wait for %s", async (provider) => {
    const silent = new Silence();
    await using server = await wireServer({ silent });
    const model = await modelOn(provider, server);
    const call = model.call({ messages }, {});
    await silent.asked;
    silent.release("At last");
    expect((await call).message.text).toBe("At last");
  });
});

/** A callback handler at which LangChain streams. */
const streaming = { name: "tokens", lc_prefer_streaming: true, handleLLMNewToken: () => undefined };

/** What is made of what the provider's model throws; the server has been asked once. */
async function failureOf(way: Way, provider: DialectName, entry: WireEntry): Promise<Failure> {
  await using server = await wireServer(entry);
  const chat = await chatOn(provider, server);
  const thrown = await ask(way, chat).then(
    ({ message }) => new Error(`It replied: ${message.text}`),
    (error: unknown) => error,
  );
  expect(server.requests).toHaveLength(1);
  expect(String(thrown)).not.toContain("It replied");
  return classifyFailure(thrown);
}
