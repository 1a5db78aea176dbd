import type { ServerResponse } from "node:http";
import { HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/clock.ts";
import type { AgentModel, ModelRequest } from "../../../src/models/agent-model.ts";
import { createModels } from "../../../src/models/create-models.ts";
import { httpServer } from "../../helpers/http-server.ts";
import { calculator } from "../wire/providers.ts";

const request: ModelRequest = { messages: [new HumanMessage("Hi")], tools: [calculator] };

describe("a stream of a model with tools", () => {
  it("has a section without an end as reasoning", async () => {
    const model = await modelOf((response) => {
      for (const content of ["<think>", "six times ", "seven"]) response.write(delta({ content }));
      response.end(delta({}, "stop"));
    });
    const { message, reasoning } = await model.call(request, {});
    expect(message.text).toBe("");
    expect(reasoning).toEqual({ text: "six times seven" });
  });

  it("is no sign of life while its parts are empty", async () => {
    const model = await modelOf(
      (response) => {
        const timer = setInterval(() => response.write(delta({})), 10);
        response.on("close", () => clearInterval(timer));
      },
      { first_token_seconds: 0.2 },
    );
    await expect(model.call(request, {})).rejects.toMatchObject({ reason: "timeout" });
  });

  it.each(["content", "reasoning_content", "refusal"])(
    "ends when its %s is endless",
    async (field) => {
      const part = delta({ [field]: "x".repeat(500_000) });
      const model = await modelOf((response) => {
        const write = () => {
          while (!response.destroyed && response.write(part));
        };
        response.on("drain", write);
        write();
      });
      await expect(model.call(request, {})).rejects.toMatchObject({
        reason: "bad_reply",
        message: expect.stringContaining("Expected at most 16,000,000 characters") as string,
      });
    },
  );
});

describe("a call whose server keeps to no types", () => {
  it.each([{}, [], 5, null, "i".repeat(1000)])("has no id for %j", async (id) => {
    const model = await modelOf((response) => response.end(callOf({ id })));
    const { message } = await model.call(request, {});
    const [call] = [...(message.tool_calls ?? []), ...(message.invalid_tool_calls ?? [])];
    expect(call?.id).toBeUndefined();
  });

  it.each([{}, [], 5, null])("has an empty name for %j", async (name) => {
    const model = await modelOf((response) => response.end(callOf({ name })));
    const { message } = await model.call(request, {});
    expect(message.tool_calls).toMatchObject([{ id: "call_1", name: "" }]);
  });

  it("has a name of at most 256 characters", async () => {
    const model = await modelOf((response) => response.end(callOf({ name: "n".repeat(100_000) })));
    const { message } = await model.call(request, {});
    expect(message.tool_calls).toMatchObject([{ name: "n".repeat(256) }]);
  });
});

/** A model of OpenAI's protocol whose server streams what `reply` writes. */
async function modelOf(
  reply: (response: ServerResponse) => unknown,
  timeout = {},
): Promise<AgentModel> {
  const host = await httpServer((incoming, response) => {
    incoming.resume().on("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      reply(response);
    });
  });
  const env = { OPENAI_BASE_URL: `http://${host}/v1` };
  const models = createModels({ env, clock: systemClock, maxRetries: 0 });
  return models.resolve({ default_model: "openai:gpt-4o-mini", timeout });
}

function delta(made: object, finish_reason: string | null = null): string {
  const choices = [{ index: 0, delta: made, finish_reason }];
  return `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", choices })}\n\n`;
}

function callOf({ id = "call_1", name = "calculator" }: { id?: unknown; name?: unknown }): string {
  const call = {
    index: 0,
    id,
    type: "function",
    function: { name, arguments: `{"expression":"1"}` },
  };
  return delta({ tool_calls: [call] }) + delta({}, "tool_calls");
}
