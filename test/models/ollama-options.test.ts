import { describe, expect, it } from "vitest";
import type { ModelOptions } from "../../src/models/provider.ts";
import { ollamaServer } from "../helpers/ollama-server.ts";
import { look, lookOnWire, messages, modelOn } from "./ollama-model.ts";
import { streamed } from "./openai-model.ts";

const all = {
  seed: 0,
  temperature: 0.1,
  top_p: 0.8,
  num_predict: -1,
  repeat_last_n: -1,
  repeat_penalty: 1.1,
  num_ctx: 16_384,
};

const each: ModelOptions[] = [
  { seed: 42 },
  { seed: 0 },
  { seed: -7 },
  { temperature: 0.7 },
  { temperature: 0 },
  { top_p: 0.9 },
  { top_p: 0 },
  { num_predict: 256 },
  { num_predict: 0 },
  { num_predict: -1 },
  { num_predict: -2 },
  { repeat_last_n: 64 },
  { repeat_last_n: 0 },
  { repeat_last_n: -1 },
  { repeat_penalty: 1.1 },
  { repeat_penalty: 0 },
  { num_ctx: 8_192 },
];

const ways = [
  { way: "alone", tools: undefined },
  { way: "with tools", tools: [look] },
] as const;

describe.each(ways)("a request $way", ({ tools }) => {
  const bound = tools && { tools };
  const body = (options: object) => ({
    model: "llama3.2",
    messages: [{ role: "user", content: "Hello" }],
    stream: true,
    options,
    ...(tools && { tools: [lookOnWire] }),
  });

  it.each(each.map((options) => ({ options, said: JSON.stringify(options) })))(
    "says $said",
    async ({ options }) => {
      await using server = await ollamaServer(["Hi"]);
      await (await modelOn(server, options)).call({ messages, ...bound }, {});
      expect(server.chats).toEqual([body(options)]);
    },
  );

  it("says all options, and no other", async () => {
    await using server = await ollamaServer(["Hi"]);
    await (await modelOn(server, all)).call({ messages, ...bound }, {});
    expect(server.chats).toEqual([body(all)]);
  });

  it("says no option where none is set", async () => {
    await using server = await ollamaServer(["Hi"]);
    await (await modelOn(server)).call({ messages, ...bound }, {});
    expect(server.chats).toEqual([body({})]);
  });

  it("says the same while its tokens are streamed", async () => {
    await using server = await ollamaServer(["Hello to you"]);
    const { tokens } = await streamed(await modelOn(server, all), tools);
    expect(tokens).toEqual(["Hello", " to", " you"]);
    expect(server.chats).toMatchObject([{ stream: true, options: all }]);
    expect(server.chats[0]?.options).toEqual(all);
  });
});

it("says max_tokens in Ollama's word", async () => {
  await using server = await ollamaServer(["Hi"]);
  await (await modelOn(server, { max_tokens: 99 })).call({ messages }, {});
  expect(server.chats[0]?.options).toEqual({ num_predict: 99 });
});

it("prefers Ollama's word for it", async () => {
  await using server = await ollamaServer(["Hi"]);
  await (await modelOn(server, { max_tokens: 99, num_predict: -1 })).call({ messages }, {});
  expect(server.chats[0]?.options).toEqual({ num_predict: -1 });
});
