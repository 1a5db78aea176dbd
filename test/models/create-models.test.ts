import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { describe, expect, it } from "vitest";
import type { LlmConfig } from "../../src/definition/schema/agent.ts";
import { createModels, type CreateModelsOptions } from "../../src/models/create-models.ts";
import {
  MissingApiKeyError,
  MissingProviderError,
  ModelOptionError,
  UnknownModelError,
} from "../../src/models/errors.ts";
import { loadProvider } from "../../src/models/provider.ts";
import { ManualClock } from "../helpers/manual-clock.ts";

const messages = [new HumanMessage("Hello")];

function models(options: Partial<CreateModelsOptions> = {}) {
  return createModels({ env: {}, clock: new ManualClock(), ...options });
}

async function refOf(options: Partial<CreateModelsOptions>): Promise<string> {
  return (await models(options).resolve({})).ref;
}

describe("the default model", () => {
  it("is offline where nothing is configured", async () => {
    expect(await refOf({})).toBe("offline:rules");
    expect(await refOf({ env: { OPENAI_API_KEY: "", STRATAGRAPH_MODEL: "" } })).toBe(
      "offline:rules",
    );
  });

  it("is OpenAI's small one with a key", async () => {
    expect(await refOf({ env: { OPENAI_API_KEY: "k" } })).toBe("openai:gpt-4o-mini");
  });

  it("is what STRATAGRAPH_MODEL names", async () => {
    const env = { OPENAI_API_KEY: "k", STRATAGRAPH_MODEL: "ollama:llama3:latest" };
    expect(await refOf({ env })).toBe("ollama:llama3:latest");
  });

  it("is what the caller says before all", async () => {
    const env = { STRATAGRAPH_MODEL: "ollama:llama3" };
    expect(await refOf({ env, defaultModel: "offline:rules" })).toBe("offline:rules");
  });
});

describe("resolving", () => {
  it("gives the same model for the same options, in whatever order", async () => {
    const source = models();
    const one = await source.resolve({ default_model: "ollama:a", temperature: 0, seed: 1 });
    const two = await source.resolve({ seed: 1, temperature: 0, default_model: "ollama:a" });
    const other = await source.resolve({ default_model: "ollama:a", temperature: 1, seed: 1 });
    expect(two).toBe(one);
    expect(other).not.toBe(one);
  });

  it.each([
    ["gpt-4o", 'Did you mean "openai:gpt-4o"?'],
    ["claude-3-haiku", 'Did you mean "anthropic:claude-3-haiku"?'],
    ["opanai:gpt-4o", 'Did you mean "openai:gpt-4o"?'],
    ["rules", 'Did you mean "offline:rules"?'],
    ["offline:rulez", 'Did you mean "offline:rules"?'],
    ["llama3:latest", 'Did you mean "ollama:llama3:latest"?'],
    ["amazon.nova-lite-v1:0", 'Did you mean "bedrock:amazon.nova-lite-v1:0"?'],
    ["llama3:", 'Did you mean "ollama:llama3"?'],
    ["llama3.2", 'Did you mean "ollama:llama3.2"?'],
    ["qwen3:8b", 'Did you mean "ollama:qwen3:8b"?'],
    ["gpt-oss:20b", 'Did you mean "ollama:gpt-oss:20b"?'],
    ["opnai:gpt-4o", 'Did you mean "openai:gpt-4o"?'],
    ["ollma:llama3:latest", 'Did you mean "ollama:llama3:latest"?'],
    ["olama:gpt-4o", 'Did you mean "ollama:gpt-4o"?'],
    ["Grok:llama-3.3-70b", 'Did you mean "groq:llama-3.3-70b"?'],
  ])("refuses %s with a suggestion", async (ref, hint) => {
    const refused = models().resolve({ default_model: ref });
    await expect(refused).rejects.toThrow(UnknownModelError);
    await expect(refused).rejects.toThrow(hint);
  });

  it("says which providers there are", async () => {
    await expect(models().resolve({ default_model: "acme:one" })).rejects.toThrow(
      'Unknown model "acme:one": expected provider:model with one of the providers ' +
        "openai, anthropic, google, mistral, groq, bedrock, ollama, offline.",
    );
  });

  it("says what to install", async () => {
    const missing = "@langchain/acme";
    const refused = loadProvider(missing, () => import(/* @vite-ignore */ missing));
    await expect(refused).rejects.toThrow(MissingProviderError);
    await expect(refused).rejects.toThrow(
      "The package @langchain/acme is not installed. Install it: npm install @langchain/acme",
    );
  });

  it("says which key is missing, and how to do without", async () => {
    const refused = models().resolve({ default_model: "openai:gpt-4o" });
    await expect(refused).rejects.toThrow(MissingApiKeyError);
    await expect(refused).rejects.toThrow(
      'The model "openai:gpt-4o" needs an API key: set the environment variable OPENAI_API_KEY, or name an ' +
        "OpenAI-compatible server that needs none with llm_config.base_url. To try things out without a key " +
        'or a network, use the model "offline:rules".',
    );
  });

  it("needs AWS's credentials and a region for Bedrock", async () => {
    const region = { AWS_REGION: "eu-central-1" };
    const resolve = (env: CreateModelsOptions["env"]) =>
      models({ env }).resolve({ default_model: "bedrock:amazon.nova-lite-v1:0" });
    await expect(resolve(region)).rejects.toThrow(
      "set the environment variable AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY, or AWS_PROFILE.",
    );
    await expect(resolve({ AWS_PROFILE: "dev" })).rejects.toMatchObject({
      code: "missing_region",
      message:
        'The model "bedrock:amazon.nova-lite-v1:0" needs a region: set the environment variable AWS_REGION.',
    });
    const { ref } = await resolve({ AWS_BEARER_TOKEN_BEDROCK: "token", ...region });
    expect(ref).toBe("bedrock:amazon.nova-lite-v1:0");
  });

  it("needs no key for a server named by base_url", async () => {
    const model = await models().resolve({
      default_model: "openai:local",
      base_url: "http://127.0.0.1:1/v1",
    });
    expect(model.ref).toBe("openai:local");
  });

  it("checks the fallback too", async () => {
    const refused = models().resolve({
      default_model: "offline:rules",
      fallback_model: "openai:gpt-4o",
    });
    await expect(refused).rejects.toThrow(MissingApiKeyError);
  });

  it("tries again after a failure", async () => {
    const env: Record<string, string> = {};
    const source = models({ env });
    const wanted = { default_model: "openai:gpt-4o" };
    await expect(source.resolve(wanted)).rejects.toThrow(MissingApiKeyError);
    env["OPENAI_API_KEY"] = "k";
    expect(await source.resolve(wanted)).toMatchObject({ ref: "openai:gpt-4o" });
  });

  it("refuses an option that the provider does not take", async () => {
    const refused = models({ env: { OPENAI_API_KEY: "k" } }).resolve({
      default_model: "openai:gpt-4o",
      num_ctx: 4_096,
    });
    await expect(refused).rejects.toThrow(ModelOptionError);
    await expect(refused).rejects.toThrow(
      'The model "openai:gpt-4o" does not take the option "num_ctx". It takes: temperature, max_tokens, seed, ' +
        "top_p, base_url, reasoning_effort, verbosity, parallel_tool_calls, provider_options.",
    );
  });

  it("accepts an option that one of the two models takes", async () => {
    const model = await models({ env: { OPENAI_API_KEY: "k" } }).resolve({
      default_model: "openai:gpt-4o",
      fallback_model: "ollama:llama3",
      num_ctx: 4_096,
    });
    expect(model.ref).toBe("openai:gpt-4o");
  });

  it("lets any definition run on the offline model", async () => {
    const model = await models().resolve({
      default_model: "offline:rules",
      num_ctx: 4_096,
      seed: 1,
    });
    expect(model.toolCalling).toBe(true);
  });

  it("takes further providers", async () => {
    const chat = fakeModel().respond(new AIMessage("Hi"));
    const source = models({
      providers: { acme: { options: ["seed"], create: () => Promise.resolve(chat) } },
    });
    const model = await source.resolve({ default_model: "acme:one", seed: 4 });
    expect((await model.call({ messages }, {})).message.text).toBe("Hi");
  });
});

describe("chat models given as they are", () => {
  it("answer under their names and at their prices", async () => {
    const chat = fakeModel().respond(
      new AIMessage({
        content: "Hi",
        usage_metadata: {
          input_tokens: 2_000_000,
          output_tokens: 1_000_000,
          total_tokens: 3_000_000,
        },
      }),
    );
    const source = models({
      instances: { "fake:x": chat },
      prices: { "fake:x": { input: 1, output: 2 } },
    });
    const reply = await (await source.resolve({ default_model: "fake:x" })).call({ messages }, {});
    expect(reply).toMatchObject({ model: "fake:x", usage: { cost_usd: 4 } });
  });

  it("fall back", async () => {
    const down = fakeModel().alwaysThrow(Object.assign(new Error("Down"), { status: 503 }));
    const source = models({
      instances: { "fake:a": down, "fake:b": fakeModel().respond(new AIMessage("b")) },
      maxRetries: 0,
    });
    const model = await source.resolve({ default_model: "fake:a", fallback_model: "fake:b" });
    expect(await model.call({ messages }, {})).toMatchObject({
      model: "fake:b",
      fallback: { from: "fake:a", reason: "outage" },
      usage: { llm_calls: 2 },
    });
  });

  it("call tools in text where they are said to take none", async () => {
    const source = models({
      instances: { "fake:a": fakeModel(), "fake:b": fakeModel() },
      toolCalling: { "fake:b": false },
    });
    const resolve = async (default_model: string, fallback_model = "") =>
      (await source.resolve({ default_model, fallback_model })).toolCalling;
    expect(await resolve("fake:a")).toBe(true);
    expect(await resolve("fake:b")).toBe(false);
    // One request goes to both.
    expect(await resolve("fake:a", "fake:b")).toBe(false);
  });

  it("get the messages array itself", async () => {
    const chat = fakeModel().respond(new AIMessage("Hi"));
    const source = models({ instances: { "fake:x": chat } });
    await (await source.resolve({ default_model: "fake:x" })).call({ messages }, {});
    expect(chat.calls[0]?.messages[0]).toBe(messages[0]);
  });

  it("leave an empty reply to the caller", async () => {
    const source = models({ instances: { "fake:x": fakeModel().respond(new AIMessage("")) } });
    const reply = await (await source.resolve({ default_model: "fake:x" })).call({ messages }, {});
    expect(reply.message.text).toBe("");
  });

  it("are told to be wrong when they answer as somebody else", async () => {
    const source = models({ instances: { "fake:x": fakeModel().respond(new HumanMessage("Hi")) } });
    const model = await source.resolve({ default_model: "fake:x" });
    await expect(model.call({ messages }, {})).rejects.toMatchObject({ reason: "bad_reply" });
  });
});

describe("what is known of a model", () => {
  const sonnet = "anthropic:claude-sonnet-4-5";

  async function about(options: Partial<CreateModelsOptions>, config: LlmConfig = {}) {
    const { profile, parallelCalls } = await models(options).resolve(config);
    return { window: profile.window, maxOutput: profile.maxOutput, parallelCalls };
  }

  it("is that of the chosen model, with a fallback too", async () => {
    const config = { default_model: "openai:gpt-4o", fallback_model: "ollama:llama3" };
    expect(await about({ env: { OPENAI_API_KEY: "k" } }, config)).toEqual({
      window: 128_000,
      maxOutput: 16_384,
      parallelCalls: true,
    });
  });

  it("has to do with what the definition says of sizes", async () => {
    const config = { default_model: "ollama:llama3", num_ctx: 16_384, max_tokens: 700 };
    expect(await about({}, config)).toMatchObject({ window: 16_384, maxOutput: 700 });
  });

  it("does not have to do with options that only the fallback takes", async () => {
    const config = {
      default_model: "openai:gpt-4o",
      fallback_model: "ollama:llama3",
      num_ctx: 4_096,
      num_predict: 9,
    };
    expect(await about({ env: { OPENAI_API_KEY: "k" } }, config)).toMatchObject({
      window: 128_000,
      maxOutput: 16_384,
    });
  });

  it("may be said by the program", async () => {
    const options = {
      instances: { "fake:a": fakeModel(), "fake:b": fakeModel() },
      windows: { "fake:a": 10_000, "fake:b": 9_000 },
      parallelCalls: { "fake:a": true },
    };
    expect(await about(options, { default_model: "fake:a" })).toEqual({
      window: 10_000,
      maxOutput: 2_500,
      parallelCalls: true,
    });
    expect(await about(options, { default_model: "fake:b" })).toMatchObject({
      window: 9_000,
      parallelCalls: false,
    });
  });

  it("does not hold of calls where the name may be another model's", async () => {
    const named = async (options: Partial<CreateModelsOptions>, config: LlmConfig = {}) =>
      (await about(options, { default_model: "openai:gpt-4o", ...config })).parallelCalls;
    const key = { OPENAI_API_KEY: "k" };
    const elsewhere = "http://127.0.0.1:1/v1";
    expect(await named({ env: key })).toBe(true);
    expect(await named({ env: { ...key, OPENAI_BASE_URL: "https://api.openai.com/v1" } })).toBe(
      true,
    );
    expect(await named({ env: { ...key, OPENAI_BASE_URL: elsewhere } })).toBe(false);
    expect(await named({ env: key }, { base_url: elsewhere })).toBe(false);
    expect(await named({ instances: { "openai:gpt-4o": fakeModel() } })).toBe(false);
    const providers = { anthropic: { options: [], create: async () => fakeModel() } };
    expect((await about({ providers }, { default_model: sonnet })).parallelCalls).toBe(false);
  });
});
