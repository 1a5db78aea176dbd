import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { createModels } from "../../src/models/create-models.ts";
import { ModelOptionError } from "../../src/models/errors.ts";
import type { OllamaClientConfig } from "../../src/models/agent-model.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { ollamaServer, Silence } from "../helpers/ollama-server.ts";
import { waits } from "./model-waits.ts";
import { messages, modelOn, nowhere, thrownBy } from "./ollama-model.ts";
import { streamed } from "./openai-model.ts";

function refusal(config: OllamaClientConfig): Promise<unknown> {
  return modelOn(nowhere, { ollama_client_config: config });
}

describe("ollama_client_config.host", () => {
  it.each([
    ["a URL", (url: string) => url],
    ["a URL with a slash", (url: string) => `${url}/`],
    ["host:port", (url: string) => url.replace("http://", "")],
    ["0.0.0.0", (url: string) => url.replace("127.0.0.1", "0.0.0.0")],
    [":port", (url: string) => url.replace("http://127.0.0.1", "")],
  ])("comes before the environment as %s", async (_, form) => {
    await using server = await ollamaServer(["Hi"]);
    const model = await modelOn(
      nowhere,
      { ollama_client_config: { host: form(server.url) } },
      { env: { OLLAMA_BASE_URL: nowhere.url, OLLAMA_HOST: nowhere.url } },
    );
    expect((await model.call({ messages }, {})).message.text).toBe("Hi");
  });

  it("leaves it to the environment where it is not said", async () => {
    await using server = await ollamaServer(() => "Hi");
    const config = { ollama_client_config: { timeout_ms: 5 } };
    const envs = [
      { OLLAMA_HOST: server.url },
      { OLLAMA_BASE_URL: server.url, OLLAMA_HOST: nowhere.url },
    ];
    for (const env of envs) {
      const model = await modelOn(nowhere, config, { env });
      expect((await model.call({ messages }, {})).message.text).toBe("Hi");
    }
  });

  it("may hold credentials, which are sent as a header and said nowhere", async () => {
    await using server = await ollamaServer([{ status: 401, error: "No hunter2-hunter2 here" }]);
    const host = server.url.replace("http://", "http://ada:hunter2-hunter2@");
    const model = await modelOn(nowhere, { ollama_client_config: { host } });
    const failed = await thrownBy(model.call({ messages }, {}));
    const sent = `Basic ${Buffer.from("ada:hunter2-hunter2").toString("base64")}`;
    expect(server.requests[0]?.headers.authorization).toBe(sent);
    expect(failed.message).toContain("No [redacted] here");
    expect(inspect(failed, { depth: Infinity })).not.toContain("hunter2");
  });

  it("is refused where it is no address", async () => {
    const refused = refusal({ host: "ftp://ada:hunter2@example.org" });
    await expect(refused).rejects.toThrow(ModelOptionError);
    await expect(refused).rejects.toThrow(
      'The option "ollama_client_config.host" of the model "ollama:llama3.2" is "…@example.org": ' +
        "expected a URL, such as http://127.0.0.1:11434, or host:port.",
    );
  });
});

describe("ollama_client_config.timeout_ms", () => {
  const config = { ollama_client_config: { timeout_ms: 30_000 } };
  const said =
    'The model "ollama:llama3.2" did not answer: it could not be reached or broke off: ' +
    "The reply was not whole after the 30,000 ms of ollama_client_config.timeout_ms. " +
    "Check the server and the network, or name a fallback_model in llm_config.";
  const silences = [
    ["before the first word", (silent: Silence) => ({ silent })],
    ["in the middle", (silent: Silence) => ({ half: "One two three four", end: silent })],
  ] as const;

  it.each(silences)("ends a request that hangs %s", async (_, answer) => {
    const silent = new Silence();
    await using server = await ollamaServer([answer(silent)]);
    const clock = new ManualClock();
    const call = thrownBy((await modelOn(server, config, { clock })).call({ messages }, {}));
    await silent.asked;
    clock.advance(29_999);
    expect(clock.isDueWithin(1)).toBe(true);
    clock.advance(1);
    expect(await call).toMatchObject({
      code: "model_call",
      reason: "outage",
      transient: true,
      status: null,
      message: said,
    });
    await silent.aborted;
    expect(clock.pending).toBe(0);
  });

  it.each(silences)("ends a streamed one that hangs %s", async (_, answer) => {
    const silent = new Silence();
    await using server = await ollamaServer([answer(silent)]);
    const clock = new ManualClock();
    const call = thrownBy(streamed(await modelOn(server, config, { clock })));
    await silent.asked;
    clock.advance(30_000);
    expect((await call).message).toBe(said);
    await silent.aborted;
  });

  it("is for each request: a retry has as long again", async () => {
    const silent = new Silence();
    const again = new Silence();
    await using server = await ollamaServer([{ silent }, { silent: again }]);
    const clock = new ManualClock();
    const model = await modelOn(server, config, { clock, maxRetries: 1, retryBackoffMs: 0 });
    const progress = waits();
    const call = model.call({ messages, onProgress: progress.add }, {});
    await silent.asked;
    clock.advance(30_000);
    await progress.next();
    clock.advance(0);
    await again.asked;
    clock.advance(29_999);
    again.release("At last");
    expect((await call).message.text).toBe("At last");
    expect(clock.pending).toBe(0);
  });

  it("is over with the reply", async () => {
    await using server = await ollamaServer(["Hi", { status: 404 }]);
    const clock = new ManualClock();
    const model = await modelOn(server, config, { clock });
    await model.call({ messages }, {});
    expect(clock.pending).toBe(0);
    await thrownBy(model.call({ messages }, {}));
    expect(clock.pending).toBe(0);
  });

  it.each([0, -1, Number.NaN])("is refused as %d", async (timeout_ms) => {
    await expect(refusal({ timeout_ms })).rejects.toThrow(
      `The option "ollama_client_config.timeout_ms" of the model "ollama:llama3.2" is ${timeout_ms}: ` +
        "expected milliseconds, more than 0.",
    );
  });
});

describe("models", () => {
  const source = createModels({ env: { OPENAI_API_KEY: "k" }, clock: new ManualClock() });
  const resolve = (ollama_client_config?: OllamaClientConfig) =>
    source.resolve({
      default_model: "ollama:llama3",
      ...(ollama_client_config && { ollama_client_config }),
    });

  it("are the same for the same client config, and others for another", async () => {
    const configs: (OllamaClientConfig | undefined)[] = [
      undefined,
      { host: "a:1" },
      { host: "b:1" },
      { host: "a:1", timeout_ms: 1 },
      { host: "a:1", timeout_ms: 2 },
      { host: "a:1", headers: { a: "1" } },
      { host: "a:1", headers: { a: "2" } },
    ];
    const made = await Promise.all(configs.map(resolve));
    expect(new Set(made).size).toBe(configs.length);
    const again = await Promise.all(configs.map((config) => resolve(structuredClone(config))));
    expect(again.every((model, i) => model === made[i])).toBe(true);
    expect(await resolve({ timeout_ms: 2, host: "a:1" })).toBe(made[4]);
  });

  it("of other providers refuse it by name", async () => {
    const refused = source.resolve({
      default_model: "openai:gpt-4o",
      ollama_client_config: { headers: { key: "1" } },
    });
    await expect(refused).rejects.toThrow(ModelOptionError);
    await expect(refused).rejects.toMatchObject({
      option: "ollama_client_config",
      message:
        'The model "openai:gpt-4o" does not take the option "ollama_client_config": it says how an Ollama server ' +
        'is reached. Leave it out, or name a model of Ollama\'s ("ollama:…").',
    });
  });

  it("take it for a fallback of Ollama's", async () => {
    const model = await source.resolve({
      default_model: "openai:gpt-4o",
      fallback_model: "ollama:llama3",
      ollama_client_config: { host: "a:1" },
    });
    expect(model.ref).toBe("openai:gpt-4o");
  });

  it("of Ollama's do not name it among what could be set instead", async () => {
    await expect(
      source.resolve({ default_model: "ollama:llama3", base_url: "http://a" }),
    ).rejects.toThrow(
      'The model "ollama:llama3" does not take the option "base_url". It takes: temperature, max_tokens, seed, ' +
        "top_p, num_ctx, num_predict, repeat_last_n, repeat_penalty, reasoning_effort, provider_options.",
    );
  });
});
