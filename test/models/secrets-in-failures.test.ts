import { inspect } from "node:util";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { describe, expect, it } from "vitest";
import { createModels, type CreateModelsOptions } from "../../src/models/create-models.ts";
import { ModelCallError, ModelOptionError } from "../../src/models/errors.ts";
import { freePort } from "../helpers/free-port.ts";
import { ManualClock } from "../helpers/manual-clock.ts";

const secret = "hunter2-0123456789";
const messages = [new HumanMessage("Hello")];

function models(options: Partial<CreateModelsOptions>) {
  return createModels({ env: {}, clock: new ManualClock(), maxRetries: 0, ...options });
}

async function failureOf(thrown: Error | AIMessage, env = {}): Promise<ModelCallError> {
  const fake = fakeModel();
  fake.respond(thrown);
  const source = models({ env, instances: { "offline:fake": fake } });
  const model = await source.resolve({ default_model: "offline:fake" });
  const failure: unknown = await model.call({ messages }, {}).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ModelCallError);
  return failure as ModelCallError;
}

describe("a failure", () => {
  it.each(["MISTRAL_API_KEY", "AWS_BEARER_TOKEN_BEDROCK"])(
    "does not show the beginning of %s where its text is cut",
    async (name) => {
      const failure = await failureOf(new Error(`${"x".repeat(285)} ${secret}`), {
        [name]: secret,
      });
      expect(failure.message).not.toContain("hunter2");
    },
  );

  it("has no secret in what caused its cause", async () => {
    const thrown = new Error("Connection error.", { cause: new Error(`key ${secret}`) });
    const failure = await failureOf(thrown, { OPENAI_API_KEY: secret });
    expect(failure.cause).toMatchObject({ message: "Connection error." });
    expect(inspect(failure, { depth: 8 })).not.toContain(secret);
  });

  it("keeps a cause that shows none", async () => {
    const thrown = new Error("Connection error.", { cause: new Error("reset") });
    expect((await failureOf(thrown, { OPENAI_API_KEY: secret })).cause).toBe(thrown);
  });

  it("keeps 2,000 characters of a refusal, and not the reply", async () => {
    const refusal = `I cannot say ${secret}. ${"x".repeat(10_000_000)}`;
    const reply = new AIMessage({ content: "", additional_kwargs: { refusal } });
    const failure = await failureOf(reply, { OPENAI_API_KEY: secret });
    expect(failure).toMatchObject({ code: "model_refusal", reason: "refusal" });
    expect(failure.said.startsWith("I cannot say [redacted]. xxx")).toBe(true);
    expect(failure.said.length).toBeLessThan(2100);
    expect(inspect(failure, { depth: 8, maxStringLength: null }).length).toBeLessThan(20_000);
  });
});

describe("credentials in a base URL", () => {
  const url = `http://user:${secret}@127.0.0.1:9/v1`;
  const keys = {
    ANTHROPIC_API_KEY: "a",
    AWS_BEARER_TOKEN_BEDROCK: "b",
    AWS_REGION: "us-east-1",
    GOOGLE_API_KEY: "g",
    GROQ_API_KEY: "q",
    MISTRAL_API_KEY: "m",
  };

  it.each([
    ["openai:gpt-4o", "OPENAI_BASE_URL"],
    ["anthropic:claude-sonnet-4-5", "ANTHROPIC_BASE_URL"],
    ["google:gemini-2.5-flash", "GOOGLE_GEMINI_BASE_URL"],
    ["mistral:mistral-small-latest", "MISTRAL_BASE_URL"],
    ["groq:llama-3.3-70b-versatile", "GROQ_BASE_URL"],
    ["bedrock:amazon.nova-lite-v1:0", "AWS_ENDPOINT_URL"],
  ])("are refused for %s", async (default_model, variable) => {
    for (const [option, env, named] of [
      ["base_url", keys, { base_url: url }],
      [variable, { ...keys, [variable]: url }, {}],
    ] as const) {
      const resolving = models({ env }).resolve({ default_model, ...named });
      const thrown: unknown = await resolving.catch((error: unknown) => error);
      expect(thrown).toBeInstanceOf(ModelOptionError);
      expect(thrown).toMatchObject({ option });
      expect(inspect(thrown)).not.toContain(secret);
    }
  });

  it("of Ollama are in no text of an open circuit", async () => {
    const host = `http://user:${secret}@127.0.0.1:${await freePort()}`;
    const source = models({ circuitBreaker: { failures: 1 } });
    const model = await source.resolve({
      default_model: "ollama:first",
      fallback_model: "ollama:second",
      ollama_client_config: { host },
    });
    await expect(model.call({ messages }, {})).rejects.toThrow("no Ollama server answers");
    const failure: unknown = await model.call({ messages }, {}).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      message: expect.stringContaining("at http://127.0.0.1:") as string,
    });
    expect(inspect(failure, { depth: 8 })).not.toContain(secret);
  });
});
