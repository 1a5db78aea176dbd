import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import { expect, it } from "vitest";
import { fromChatModel } from "../../../src/models/calls/from-chat-model.ts";
import { modelProfile } from "../../../src/models/model-profile.ts";

const messages = [new HumanMessage("Hello")];

it("meters any chat model under the name it is given", async () => {
  const chat = fakeModel().respond(
    new AIMessage({
      content: "Hi",
      usage_metadata: { input_tokens: 1_000, output_tokens: 100, total_tokens: 1_100 },
    }),
  );
  const model = fromChatModel(chat, { ref: "openai:gpt-4o" });
  expect(model).toMatchObject({ ref: "openai:gpt-4o", toolCalling: true });
  expect(await model.call({ messages }, {})).toMatchObject({
    model: "openai:gpt-4o",
    usage: { tokens_in: 1_000, tokens_out: 100, cost_usd: 0.0035 },
  });
});

it("fails by name", async () => {
  const chat = fakeModel().alwaysThrow(Object.assign(new Error("Busy"), { status: 429 }));
  const call = fromChatModel(chat, { ref: "fake:x" }).call({ messages }, {});
  await expect(call).rejects.toMatchObject({ code: "model_call", reason: "rate_limit", tries: 1 });
});

it("is told what is known of its model, or what it is said to be", () => {
  const chat = fakeModel();
  expect(fromChatModel(chat, { ref: "openai:gpt-4o" })).toMatchObject({
    profile: { ref: "openai:gpt-4o", window: 128_000 },
    parallelCalls: false,
  });
  const own = { ref: "openai:gpt-4o", window: 8_000, parallelCalls: true };
  expect(fromChatModel(chat, own)).toMatchObject({
    profile: { window: 8_000 },
    parallelCalls: true,
  });
  const profile = modelProfile("fake:x", { window: 5 });
  expect(fromChatModel(chat, { ref: "fake:x", profile }).profile).toBe(profile);
});
