import { describe, expect, it, vi } from "vitest";
import type { ModelCallError } from "../../src/models/errors.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { ollamaServer, type OllamaAnswer } from "../helpers/ollama-server.ts";
import { waiting } from "./model-waits.ts";
import { look, messages, modelOn, thrownBy } from "./ollama-model.ts";
import { streamed } from "./openai-model.ts";

const html = "<html><body>Bad gateway</body></html>";
const runnerDied = "an error was encountered while running the model: unexpected EOF";

async function failure(answer: OllamaAnswer): Promise<ModelCallError> {
  await using server = await ollamaServer([answer]);
  const model = await modelOn(server);
  return await thrownBy(model.call({ messages }, {}));
}

describe("an Ollama server that fails", () => {
  const cases: [string, OllamaAnswer, object, string][] = [
    ["a 503", { status: 503, error: "server busy" }, { reason: "outage", status: 503 }, "busy"],
    ["a 500", { status: 500, error: runnerDied }, { reason: "outage", status: 500 }, runnerDied],
    ["a proxy's page", { status: 502, page: html }, { reason: "outage", status: 502 }, html],
    ["a 429", { status: 429 }, { reason: "rate_limit", status: 429 }, "429"],
    ["a 401", { status: 401 }, { reason: "auth", status: 401 }, "401"],
    [
      "a prompt that is too long",
      { status: 400, error: "input length exceeds the context length" },
      { reason: "context_overflow", status: 400 },
      "context length",
    ],
    [
      "a connection that is lost",
      { half: "It is not known yet", end: "destroyed" },
      { reason: "outage", status: null },
      "aborted",
    ],
    [
      "a stream that ends politely in the middle",
      { half: "It is not known yet", end: "closed" },
      { reason: "outage", status: null },
      "The stream ended before the reply was done.",
    ],
    [
      "an error in the middle of a stream",
      { half: "It is not known yet", end: { error: runnerDied } },
      { reason: "outage", status: null },
      runnerDied,
    ],
    [
      "a line that is cut off",
      { body: '{"message":{"content":"It"},"done":false}\n{"message":{"con' },
      { reason: "outage", status: null },
      "The stream ended in the middle of a line.",
    ],
    [
      "a model that was only loaded",
      { text: "", done_reason: "load", usage: null },
      { reason: "outage", status: null },
      'The server loaded the model and replied nothing (done_reason "load").',
    ],
    [
      "a model that was unloaded",
      { text: "", done_reason: "unload", usage: null },
      { reason: "outage", status: null },
      'The server unloaded the model and replied nothing (done_reason "unload").',
    ],
    [
      "a page instead of a reply",
      { body: html },
      { reason: "bad_reply", status: null },
      `Expected lines of JSON with a message, as Ollama's /api/chat sends them; got: ${html}.`,
    ],
    [
      "a page of several lines",
      { body: "<html>\n<body>" },
      { reason: "bad_reply", status: null },
      "got: <html>.",
    ],
    [
      "some other protocol's reply",
      { body: '{"choices":[]}\n' },
      { reason: "bad_reply", status: null },
      'got: {"choices":[]}.',
    ],
    ["nothing at all", { body: "" }, { reason: "outage", status: null }, "before the reply"],
  ];

  it.each(cases)("names %s", async (_, answer, facts, said) => {
    const failed = await failure(answer);
    expect(failed).toMatchObject({ code: "model_call", tries: 1, lacksTools: false, ...facts });
    expect(failed.message).toContain(said);
  });

  it.each(cases)("says nothing on the console of %s", async (_, answer) => {
    const said = (["log", "warn", "error"] as const).map((name) => vi.spyOn(console, name));
    await failure(answer);
    expect(said.flatMap(({ mock }) => mock.calls)).toEqual([]);
    vi.restoreAllMocks();
  });

  it.each([
    ["an error in the stream", { half: "It is not", end: { error: runnerDied } }],
    ["a model that was only loaded", { text: "", done_reason: "load" }],
    ["a lost connection", { half: "It is not", end: "destroyed" }],
  ] as [string, OllamaAnswer][])("is asked again after %s", async (_, answer) => {
    await using server = await ollamaServer([answer, "It is."]);
    const clock = new ManualClock();
    const model = await modelOn(server, {}, { maxRetries: 1, retryBackoffMs: 0, clock });
    expect(await model.call({ messages, onProgress: waiting(clock) }, {})).toMatchObject({
      message: { content: "It is." },
      usage: { llm_calls: 2 },
    });
  });

  it("is asked again after as long as it says", async () => {
    const clock = new ManualClock();
    const answer = { status: 503, headers: { "retry-after": "7" } };
    await using server = await ollamaServer([answer, "Now."]);
    const model = await modelOn(server, {}, { maxRetries: 1, clock });
    const reply = await model.call({ messages, onProgress: waiting(clock) }, {});
    expect(reply.message.text).toBe("Now.");
    expect(clock.monotonic()).toBe(7_000);
  });

  it("is named by its address where nobody listens, also at a host of several, and not tried again", async () => {
    const server = await ollamaServer([]);
    await server.close();
    const { port } = new URL(server.url);
    const clock = new ManualClock();
    const model = await modelOn({ url: `http://localhost:${port}` }, {}, { maxRetries: 3, clock });
    const failed = await thrownBy(model.call({ messages }, {}));
    expect(failed).toMatchObject({ reason: "outage", transient: false, tries: 1 });
    expect(failed.message).toContain(`no Ollama server answers at http://localhost:${port} (`);
    expect(failed.message).toContain(`connect ECONNREFUSED 127.0.0.1:${port}`);
    expect(failed.message).toMatch(
      / Start it with `ollama serve`, or set OLLAMA_HOST or ollama_client_config\.host to where it is\.$/,
    );
    expect(clock.monotonic()).toBe(0);
  });

  it("is asked again where it has answered before", async () => {
    const server = await ollamaServer(["Now."]);
    const clock = new ManualClock();
    const model = await modelOn(server, {}, { maxRetries: 1, retryBackoffMs: 8, clock });
    await model.call({ messages }, {});
    await server.close();
    const failed = await thrownBy(model.call({ messages, onProgress: waiting(clock) }, {}));
    expect(failed).toMatchObject({ reason: "outage", transient: true, tries: 2 });
    expect(clock.monotonic()).toBe(6);
  });

  it("is left for the fallback model", async () => {
    await using server = await ollamaServer([{ status: 503 }]);
    const { reply } = await streamed(await modelOn(server, { fallback_model: "offline:rules" }));
    expect(reply).toMatchObject({ fallback: { from: "ollama:llama3.2", reason: "outage" } });
  });

  it("names a model that is not there", async () => {
    await using server = await ollamaServer([]);
    const model = await modelOn(server, { default_model: "ollama:nothing:7b" });
    await expect(model.call({ messages }, {})).rejects.toMatchObject({
      reason: "model_not_found",
      status: 404,
      message: expect.stringContaining("model 'nothing:7b' not found"),
    });
  });

  it("says of a model that takes no tools that it does, and answers without them", async () => {
    await using server = await ollamaServer(["Hi"]);
    const model = await modelOn(
      server,
      { default_model: "ollama:llama3:latest" },
      { maxRetries: 2 },
    );
    await expect(model.call({ messages, tools: [look] }, {})).rejects.toMatchObject({
      code: "model_call",
      reason: "bad_request",
      lacksTools: true,
      status: 400,
      tries: 1,
      message:
        'The model "ollama:llama3:latest" did not answer: it refused the request (HTTP 400): ' +
        "registry.ollama.ai/library/llama3:latest does not support tools. " +
        'Set modelOptions.toolCalling["ollama:llama3:latest"] to false, so that tools are worded in text for it, ' +
        "or name a model that takes tools.",
    });
    expect((await model.call({ messages }, {})).message.text).toBe("Hi");
  });

  it("says so of a fallback model, too", async () => {
    await using server = await ollamaServer([{ status: 503 }]);
    const fallback_model = "ollama:llama3:latest";
    const model = await modelOn(server, { fallback_model });
    await expect(model.call({ messages, tools: [look] }, {})).rejects.toMatchObject({
      reason: "outage",
      lacksTools: true,
      fallbacks: [{ ref: "ollama:llama3:latest", reason: "bad_request", status: 400 }],
    });
  });
});
