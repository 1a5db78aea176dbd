import { inspect } from "node:util";
import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { describe, expect, it } from "vitest";
import { ollama } from "../../src/models/providers/ollama.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { ollamaServer } from "../helpers/ollama-server.ts";
import { look, messages, modelOn, nowhere, thrownBy } from "./ollama-model.ts";
import { streamed } from "./openai-model.ts";

const secret = "Bearer s3cret-0123456789";

describe("ollama_client_config.headers", () => {
  it("are sent with every request", async () => {
    await using server = await ollamaServer(() => "Hi");
    const headers = { Authorization: secret, "X-Team": "7" };
    const model = await modelOn(server, { ollama_client_config: { headers } });
    await model.call({ messages }, {});
    await model.call({ messages, tools: [look] }, { signal: new AbortController().signal });
    await streamed(model);
    expect(server.requests.map((one) => one.headers)).toMatchObject(
      [1, 2, 3].map(() => ({
        authorization: secret,
        "x-team": "7",
        "content-type": "application/json",
      })),
    );
  });

  it("come before credentials in the host, whatever their case", async () => {
    await using server = await ollamaServer(["Hi"]);
    const host = server.url.replace("http://", "http://ada:hunter2@");
    const headers = { AUTHORIZATION: secret };
    await (
      await modelOn(nowhere, { ollama_client_config: { host, headers } })
    ).call({ messages }, {});
    expect(server.requests[0]?.headers.authorization).toBe(secret);
  });

  it.each([
    ["a refusal", { status: 400, error: `Not ${secret}: s3cret-0123456789, team 7 of 77` }],
    ["an error in the stream", { half: "a b", end: { error: `Not ${secret}: 7 of 77` } }],
    ["a reply that is none", { body: `${secret} 7\n` }],
  ] as const)("are not in what is said of %s", async (_, answer) => {
    await using server = await ollamaServer(() => answer);
    const headers = { Authorization: secret, "X-Team": "7" };
    const heard: unknown[] = [];
    const model = await modelOn(server, { ollama_client_config: { headers } });
    const failed = await thrownBy(model.call({ messages }, { callbacks: [listener(heard)] }));
    expect(failed.message).toContain("[redacted]");
    expect(heard).toHaveLength(2);
    for (const shown of [inspect(failed, { depth: Infinity }), inspect(heard, { depth: 9 })]) {
      expect(shown).not.toContain("s3cret");
      expect(shown).not.toMatch(/team 7 /);
    }
  });

  it("are not in what the model shows of itself, nor in a trace", async () => {
    await using server = await ollamaServer(["Hi"]);
    const heard: unknown[] = [];
    const chat = await ollama.create({
      model: "llama3.2",
      options: {
        seed: 3,
        ollama_client_config: { host: server.url, headers: { "X-Key": secret } },
      },
      env: {},
      clock: new ManualClock(),
    });
    await chat.invoke("Hello", { callbacks: [listener(heard)] });
    expect(server.requests[0]?.headers["x-key"]).toBe(secret);
    expect(heard).toHaveLength(1);
    const shown = [
      JSON.stringify(heard),
      JSON.stringify(chat),
      JSON.stringify(chat.lc_kwargs),
      inspect(chat, { depth: Infinity, showHidden: true }),
    ];
    expect(shown[0]).toContain('"seed":3');
    for (const text of shown) expect(text).not.toContain("s3cret");
  });

  it.each([
    ["X Key", "abc", 'has "X Key": that is no name of a header.'],
    [
      "X-Key",
      "s3cret\nx",
      'has a value for "X-Key" that no header can have: expected one line of text.',
    ],
  ])("are refused as %j", async (name, value, said) => {
    await expect(
      modelOn(nowhere, { ollama_client_config: { headers: { [name]: value } } }),
    ).rejects.toThrow(
      `The option "ollama_client_config.headers" of the model "ollama:llama3.2" ${said}`,
    );
  });
});

/** Keeps what LangChain tells of a call to whoever traces it. */
function listener(heard: unknown[]): BaseCallbackHandler {
  return BaseCallbackHandler.fromMethods({
    handleChatModelStart: (...told) => void heard.push(told),
    handleLLMError: (...told) => void heard.push(told),
  });
}
