import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import type { LlmConfig } from "../../../src/definition/schema/agent.ts";
import type { JsonSchema } from "../../../src/definition/schema/json-schema.ts";
import type { StructuredAnswer } from "../../../src/models/agent-model.ts";
import { type OpenAIAnswer, openAIServer, type OpenAIServer } from "../../helpers/openai-server.ts";
import { ManualClock } from "../../helpers/manual-clock.ts";
import { wireServer } from "../../helpers/wire/server.ts";
import { createModels } from "../../../src/models/create-models.ts";
import { calculator, modelOn } from "./providers.ts";

const messages = [new HumanMessage("Where?")];
const closed: JsonSchema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const reply: OpenAIAnswer = { text: '{"city":"Paris"}' };

function formatOf(schema: JsonSchema): StructuredAnswer {
  return { name: "answer", description: "The answer to the request.", schema };
}

function openaiOn(server: OpenAIServer, config: LlmConfig) {
  const models = createModels({ env: {}, clock: new ManualClock(), maxRetries: 0 });
  return models.resolve({ default_model: "openai:gpt-4o", base_url: server.url, ...config });
}

describe("the form of an answer", () => {
  it.each([
    [{ structured_output: "native" }, true],
    [{ structured_output: "prompt" }, false],
    // Another server of a model of the same name.
    [{ structured_output: "auto" }, false],
    [{}, false],
  ] as const)("is sent to a server of chat completions with %j: %s", async (config, isSent) => {
    await using server = await openAIServer(reply);
    const model = await openaiOn(server, config);
    await model.call({ messages, format: formatOf(closed) }, {});
    const format = {
      type: "json_schema",
      json_schema: {
        name: "answer",
        description: "The answer to the request.",
        schema: closed,
        strict: true,
      },
    };
    expect(server.requests[0]?.body["response_format"]).toEqual(isSent ? format : undefined);
  });

  it("is sent with tools too, and not with every request", async () => {
    await using server = await openAIServer(reply, reply);
    const model = await openaiOn(server, { structured_output: "native" });
    await model.call({ messages, tools: [calculator], format: formatOf(closed) }, {});
    await model.call({ messages }, {});
    const bodies = server.requests.map(({ body }) => body);
    expect(bodies[0]).toMatchObject({ response_format: { type: "json_schema" }, tools: [{}] });
    expect(bodies[1]).not.toHaveProperty("response_format");
  });

  const city = { type: "string" };
  it.each<[string, JsonSchema, boolean]>([
    ["a closed object", closed, true],
    ["an open object", { ...closed, additionalProperties: true }, false],
    [
      "an object that says nothing of others",
      { type: "object", properties: { city }, required: ["city"] },
      false,
    ],
    ["an optional property", { ...closed, required: [] }, false],
    ["a default", { ...closed, properties: { city: { ...city, default: "Paris" } } }, false],
    ["a pattern", { ...closed, properties: { city: { ...city, pattern: "^P" } } }, false],
    ["an enum", { ...closed, properties: { city: { ...city, enum: ["Paris"] } } }, true],
    ["a closed object inside", { ...closed, properties: { city: closed } }, true],
    ["an open object inside", { ...closed, properties: { city: { type: "object" } } }, false],
    [
      "a list of closed objects",
      { ...closed, properties: { city: { type: "array", items: closed } } },
      true,
    ],
    [
      "a list of open objects",
      { ...closed, properties: { city: { type: "array", items: { type: "object" } } } },
      false,
    ],
  ])("of %s is enforced or not", async (_, schema, strict) => {
    await using server = await openAIServer(reply);
    const model = await openaiOn(server, { structured_output: "native" });
    await model.call({ messages, format: formatOf(schema) }, {});
    expect(server.requests[0]?.body["response_format"]).toMatchObject({
      json_schema: { schema, strict },
    });
  });

  it("is left out once a server has refused it", async () => {
    const message = "'response_format.type' : value must be 'text'";
    await using server = await openAIServer({ status: 400, message }, reply, reply);
    const model = await openaiOn(server, { structured_output: "native" });
    const first = await model.call({ messages, format: formatOf(closed) }, {});
    expect(first.message.text).toBe('{"city":"Paris"}');
    await model.call({ messages, format: formatOf(closed) }, {});
    expect(server.requests.map(({ body }) => body["response_format"] !== undefined)).toEqual([
      true,
      false,
      false,
    ]);
  });

  it.each([
    [400, "Invalid value for 'temperature'"],
    [401, "response_format needs a key"],
    [500, "response_format failed"],
  ])("stays after the status %i with: %s", async (status, message) => {
    await using server = await openAIServer({ status, message }, reply);
    const model = await openaiOn(server, { structured_output: "native" });
    const request = { messages, format: formatOf(closed) };
    await expect(model.call(request, {})).rejects.toMatchObject({ status });
    await model.call(request, {});
    expect(server.requests).toHaveLength(2);
    expect(server.requests[1]?.body).toHaveProperty("response_format");
  });

  it.each([
    ["without tools", undefined, undefined, closed],
    ["with tools", [calculator], undefined, undefined],
    ["as the prompt alone", undefined, "prompt", undefined],
  ] as const)("is sent to Ollama %s", async (_, tools, structured_output, format) => {
    await using server = await wireServer({ text: '{"city":"Paris"}' });
    const model = await modelOn("ollama", server, { config: { structured_output } });
    const request = { messages, format: formatOf(closed), ...(tools && { tools }) };
    await model.call(request, {});
    expect(server.requests.at(-1)?.body["format"]).toEqual(format);
  });

  it.each(["anthropic", "google", "mistral", "groq", "bedrock"] as const)(
    "is not sent to %s",
    async (provider) => {
      await using server = await wireServer({ text: '{"city":"Paris"}' }, { text: "Paris" });
      const model = await modelOn(provider, server);
      await model.call({ messages, format: formatOf(closed) }, {});
      await model.call({ messages }, {});
      expect(server.requests[0]?.body).toEqual(server.requests[1]?.body);
    },
  );
});
