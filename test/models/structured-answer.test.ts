import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { fakeModel } from "@langchain/core/testing";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StructuredAnswer } from "../../src/models/agent-model.ts";
import { fromChatModel } from "../../src/models/calls/from-chat-model.ts";
import { readStructured } from "../../src/models/replies/json-answer.ts";
import { createModels } from "../../src/models/create-models.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { openAIServer, tooLong } from "../helpers/openai-server.ts";
import { calculator, messages, modelOn, streamed } from "./openai-model.ts";

const answer: StructuredAnswer = {
  name: "grade",
  description: "Gives the grade.",
  schema: {
    type: "object",
    properties: { grade: { type: "string", enum: ["good", "bad"] }, points: { type: "integer" } },
    required: ["grade"],
  },
};

const good = { calls: [{ name: "grade", args: { grade: "good" } }] };

describe("a reply that must be one value", () => {
  const read = (message: AIMessage) => readStructured(message, answer);

  it("is the arguments of the function that stands for it", () => {
    const message = new AIMessage({
      content: '{"grade": "bad"}',
      tool_calls: [
        { id: "1", name: "other", args: { grade: "bad" } },
        { id: "2", name: "grade", args: { grade: "good", points: 3 } },
      ],
    });
    expect(read(message)).toEqual({ ok: true, value: { grade: "good", points: 3 } });
  });

  it("is mended where the arguments are no JSON", () => {
    const message = new AIMessage({
      content: "",
      invalid_tool_calls: [{ id: "1", name: "grade", args: '{"grade": "good",', error: "broken" }],
    });
    expect(read(message)).toEqual({ ok: true, value: { grade: "good" } });
  });

  it.each([
    ["the text alone", '{"grade": "bad"}'],
    ["a code block", 'Here it is:\n```json\n{"grade": "bad"}\n```\nDone.'],
    ["prose", 'I would say {"grade": "bad"} since it fails.'],
    ["the text form", 'Thought: poor\nFinal Answer: {"grade": "bad"}'],
    ["a call in text", '{"name": "grade", "arguments": {"grade": "bad"}}'],
    ["a call in text, in other words", '{"name": "grade", "parameters": {"grade": "bad"}}'],
  ])("is read from %s", (_, text) => {
    expect(read(new AIMessage(text))).toEqual({ ok: true, value: { grade: "bad" } });
  });

  it("says what was wrong, and what came instead", () => {
    expect(read(new AIMessage('{"grade": "fair"}'))).toEqual({
      ok: false,
      problem: 'grade: Invalid option: expected one of "good"|"bad"',
      value: { grade: "fair" },
    });
    expect(read(new AIMessage('{"name": "grade", "arguments": {"points": 1}}'))).toMatchObject({
      ok: false,
      value: { points: 1 },
    });
    expect(read(new AIMessage("Good, I think."))).toEqual({
      ok: false,
      problem: "The answer has no JSON object or array.",
      value: undefined,
    });
    expect(read(new AIMessage(""))).toEqual({
      ok: false,
      problem: "The answer is empty; it must be JSON.",
      value: undefined,
    });
  });

  it("never throws, whatever came", () => {
    const call = fc.record({
      name: fc.constantFrom("grade", "x"),
      args: fc.dictionary(fc.string(), fc.jsonValue()),
    });
    fc.assert(
      fc.property(fc.string(), fc.array(call), fc.jsonValue(), (text, calls, json) => {
        for (const content of [text, JSON.stringify(json)]) {
          const tool_calls = calls.map((one) => ({ ...one, id: "1" }));
          const said = read(new AIMessage({ content, tool_calls }));
          const { grade } = (said.value ?? {}) as { grade?: unknown };
          expect(said.ok ? grade === "good" || grade === "bad" : said.problem !== "").toBe(true);
        }
      }),
    );
  });
});

describe("a request for one value", () => {
  it("makes a server's model call the function that stands for it", async () => {
    await using server = await openAIServer(good);
    const model = await modelOn(server);
    const { message } = await model.call({ messages, answer, tools: [calculator] }, {});
    expect(readStructured(message, answer)).toEqual({ ok: true, value: { grade: "good" } });
    expect(server.requests[0]?.body).toMatchObject({
      tools: [
        {
          type: "function",
          function: { name: "grade", description: "Gives the grade.", parameters: answer.schema },
        },
      ],
      tool_choice: "required",
    });
    expect(server.requests[0]?.body.tools).toHaveLength(1);
  });

  it("is bound once", async () => {
    await using server = await openAIServer(good, good);
    const model = await modelOn(server);
    let read = 0;
    const counted = Object.defineProperty({ ...answer }, "description", {
      enumerable: true,
      get: () => `Read ${(read += 1)} times`,
    });
    await model.call({ messages, answer: counted }, {});
    await model.call({ messages, answer: counted }, {});
    expect(read).toBe(1);
  });

  it("takes the answer in text from a server that ignores it", async () => {
    await using server = await openAIServer({ text: 'Sure: {"grade": "bad"}' });
    const { message } = await (await modelOn(server)).call({ messages, answer }, {});
    expect(readStructured(message, answer)).toEqual({ ok: true, value: { grade: "bad" } });
  });

  it.each([
    "Invalid tool_choice type. Supported string values: none, auto",
    "registry.ollama.ai/library/gemma2:2b does not support tools",
  ])("is made in text alone from the first time on that a server says: %s", async (refusal) => {
    const text = '{"grade": "bad"}';
    await using server = await openAIServer({ status: 400, message: refusal }, { text }, { text });
    const model = await modelOn(server);
    for (const _ of [1, 2]) {
      const { message } = await model.call({ messages, answer }, {});
      expect(readStructured(message, answer)).toEqual({ ok: true, value: { grade: "bad" } });
    }
    expect(server.requests.map(({ body }) => body.tools?.length ?? 0)).toEqual([1, 0, 0]);
  });

  it("fails as any other for other reasons, and is asked for natively again", async () => {
    await using server = await openAIServer({ status: 400, message: "Bad temperature" }, good);
    const model = await modelOn(server);
    await expect(model.call({ messages, answer }, {})).rejects.toMatchObject({
      code: "model_call",
      reason: "bad_request",
    });
    await model.call({ messages, answer }, {});
    expect(server.requests.map(({ body }) => body.tools?.length)).toEqual([1, 1]);
  });

  it("goes to the fallback model in the same way", async () => {
    await using server = await openAIServer(tooLong);
    const model = await modelOn(server, { fallback: "offline:rules" });
    const reply = await model.call({ messages: [new HumanMessage("It is bad.")], answer }, {});
    expect(reply).toMatchObject({
      fallback: { reason: "context_overflow" },
      usage: { llm_calls: 2 },
      message: { tool_calls: [{ name: "grade", args: { grade: "bad" } }] },
    });
  });

  it("is counted with its schema where the server counts nothing", async () => {
    await using server = await openAIServer({ text: "x", usage: null }, { ...good, usage: null });
    const model = await modelOn(server);
    const plain = await model.call({ messages }, {});
    const { usage } = await model.call({ messages, answer }, {});
    expect(usage.tokens_in).toBeGreaterThan(plain.usage.tokens_in + 30);
  });

  it("is worked off as a stream, too", async () => {
    await using server = await openAIServer(good);
    const { reply } = await streamed(await modelOn(server), undefined, answer);
    expect(reply).toMatchObject({ message: { tool_calls: [good.calls[0]] } });
  });

  it.each([
    ["a model that takes no tools", false, answer],
    ["a schema that is no object's", true, { ...answer, schema: { type: "string" } }],
  ])("is left to the prompt with %s", async (_, toolCalling, wanted) => {
    await using server = await openAIServer({ text: '"good"' });
    const models = createModels({
      env: { OPENAI_BASE_URL: server.url },
      clock: new ManualClock(),
      toolCalling: { "openai:x": toolCalling },
    });
    const model = await models.resolve({ default_model: "openai:x" });
    await model.call({ messages, answer: wanted }, {});
    expect(server.requests[0]?.body).not.toHaveProperty("tools");
    expect(server.requests[0]?.body).not.toHaveProperty("tool_choice");
  });

  it("works on any chat model", async () => {
    const model = fromChatModel(
      fakeModel().respondWithTools([{ name: "grade", args: { grade: "bad" } }]),
      { ref: "fake:x" },
    );
    const { message } = await model.call({ messages, answer }, {});
    expect(readStructured(message, answer)).toEqual({ ok: true, value: { grade: "bad" } });
  });
});
