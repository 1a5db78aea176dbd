import { describe, expect, it } from "vitest";
import { classifyFailure } from "../../src/models/failure.ts";
import { openAIServer } from "../helpers/openai-server.ts";
import { calculator, messages, modelOn } from "./openai-model.ts";

const refusals: [number, string][] = [
  [400, "registry.ollama.ai/library/llama3:latest does not support tools"],
  [400, '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'],
  [500, "tools param requires --jinja flag"],
  [500, "Unsupported param: tools"],
  [404, "No endpoints found that support tool use. To learn more about provider routing, visit: …"],
  [400, "`tool calling` is not supported with this model"],
  [400, "deepseek-reasoner does not support Function Calling"],
];

describe("a model that takes no tools", () => {
  it.each(refusals)("is known by %i %s", async (status, message) => {
    await using server = await openAIServer({ status, message });
    const model = await modelOn(server, { maxRetries: 2, fallback: "offline:rules" });
    await expect(model.call({ messages, tools: [calculator] }, {})).rejects.toMatchObject({
      code: "model_call",
      lacksTools: true,
      reason: "bad_request",
      transient: false,
      status,
      tries: 1,
    });
  });

  it.each([
    [400, "Invalid tool_choice type. Supported string values: none, auto"],
    [400, "This model does not support parallel tool calls"],
    [400, "llama3 does not support thinking"],
    [400, "Invalid schema for function 'look': tools[0] is wrong"],
    [500, "error parsing tool call: raw='{', err=unexpected end of JSON input"],
  ])("is not meant by %i %s", (status, message) => {
    const thrown = Object.assign(new Error(message), { status });
    expect(classifyFailure(thrown)).toMatchObject({ lacksTools: false });
  });
});
