import { describe, expect, it, vi } from "vitest";
import { createModels } from "../../src/models/create-models.ts";
import { ManualClock } from "../helpers/manual-clock.ts";
import { openAIServer, Silence } from "../helpers/openai-server.ts";
import { calculator, messages, modelOn, streamed } from "./openai-model.ts";

describe("a model behind OpenAI's protocol", () => {
  it("answers, with the server's own usage and its cost", async () => {
    await using server = await openAIServer({
      text: "42",
      usage: { prompt_tokens: 1_000, completion_tokens: 500 },
    });
    const model = await modelOn(server);
    const reply = await model.call({ messages }, {});
    expect(reply.message.text).toBe("42");
    expect(reply).toMatchObject({
      model: "openai:gpt-4o-mini",
      fallback: null,
      usage: { tokens_in: 1_000, tokens_out: 500, llm_calls: 1, tool_calls: 0, cost_usd: 0.00045 },
    });
  });

  it("counts tokens itself where the server gives none", async () => {
    await using server = await openAIServer({ text: "42", usage: null });
    const model = await modelOn(server);
    const { usage } = await model.call({ messages }, {});
    expect(usage).toMatchObject({ tokens_in: 12, tokens_out: 5, llm_calls: 1 });
  });

  it("sends tools and reads the calls back", async () => {
    await using server = await openAIServer({
      calls: [{ name: "calculator", args: { expression: "6 * 7" } }],
    });
    const model = await modelOn(server);
    const { message } = await model.call({ messages, tools: [calculator] }, {});
    expect(message.tool_calls).toEqual([
      { type: "tool_call", id: "call_1", name: "calculator", args: { expression: "6 * 7" } },
    ]);
    expect(server.requests[0]?.body.tools).toEqual([
      {
        type: "function",
        function: {
          name: "calculator",
          description: "Evaluates an expression.",
          parameters: calculator.input_schema,
        },
      },
    ]);
  });

  it("keeps arguments that are no JSON as an invalid call", async () => {
    await using server = await openAIServer({
      calls: [{ name: "calculator", args: '{"expression": "6 *' }],
    });
    const model = await modelOn(server);
    const { message } = await model.call({ messages, tools: [calculator] }, {});
    expect(message.tool_calls).toEqual([]);
    expect(message.invalid_tool_calls).toMatchObject([
      { id: "call_1", name: "calculator", args: '{"expression": "6 *' },
    ]);
  });

  it("prints nothing where no call can be parsed", async () => {
    using warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    const calls = [{ name: "calculator", args: "{expression: '6 * 7'}" }];
    await using server = await openAIServer({ calls }, { calls });
    const model = await modelOn(server);
    await model.call({ messages, tools: [calculator] }, {});
    await streamed(model, [calculator]);
    expect(warn).not.toHaveBeenCalled();
  });

  it("binds a list of tools once", async () => {
    await using server = await openAIServer({ text: "a" }, { text: "b" });
    const model = await modelOn(server);
    let read = 0;
    const counted = Object.defineProperty({ ...calculator }, "description", {
      get: () => `Read ${(read += 1)} times`,
    });
    const tools = [counted];
    await model.call({ messages, tools }, {});
    await model.call({ messages, tools }, {});
    const told = server.requests.map(({ body }) => JSON.stringify(body.tools));
    expect(told[0]).toContain("Read 1 times");
    expect(told[1]).toBe(told[0]);
  });

  it("streams words through LangGraph and counts usage meanwhile", async () => {
    await using server = await openAIServer({ text: "The answer is 42." });
    const { tokens, reply } = await streamed(await modelOn(server));
    expect(server.requests[0]?.body).toMatchObject({ stream: true });
    expect(tokens).toEqual(["The", " answer", " is", " 42."]);
    expect(reply).toMatchObject({
      usage: { tokens_in: 100, tokens_out: 20, llm_calls: 1 },
      fallback: null,
    });
  });

  it("streams tool calls", async () => {
    await using server = await openAIServer({
      calls: [
        { name: "calculator", args: { expression: "6 * 7" } },
        { name: "calculator", args: { expression: "1 + 1" } },
      ],
    });
    const { reply } = await streamed(await modelOn(server), [calculator]);
    expect(reply).toMatchObject({
      message: {
        tool_calls: [
          { id: "call_1", name: "calculator", args: { expression: "6 * 7" } },
          { id: "call_2", name: "calculator", args: { expression: "1 + 1" } },
        ],
      },
    });
  });

  it("keeps the text of a streamed call that is cut, which LangChain would complete", async () => {
    const cut = '{"expression": "6 * 7 - 4';
    await using server = await openAIServer({ calls: [{ name: "calculator", args: cut }] });
    const { reply } = await streamed(await modelOn(server), [calculator]);
    expect(reply).toMatchObject({
      message: { tool_calls: [], invalid_tool_calls: [{ name: "calculator", args: cut }] },
    });
  });

  it("passes options on under the protocol's names", async () => {
    await using server = await openAIServer({ text: "ok" });
    const models = createModels({ env: {}, clock: new ManualClock() });
    const model = await models.resolve({
      default_model: "openai:local",
      base_url: server.url,
      temperature: 0.2,
      max_tokens: 64,
      seed: 7,
      top_p: 0.9,
    });
    await model.call({ messages }, {});
    expect(server.requests[0]?.body).toMatchObject({
      model: "local",
      temperature: 0.2,
      max_tokens: 64,
      seed: 7,
      top_p: 0.9,
    });
  });

  it("stops at once when the signal aborts, and lets the server know", async () => {
    const silent = new Silence();
    await using server = await openAIServer({ silent });
    const model = await modelOn(server, { fallback: "offline:rules", maxRetries: 2 });
    const controller = new AbortController();
    const call = model.call({ messages }, { signal: controller.signal });
    await silent.asked;
    const reason = new Error("The turn's time is over.");
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    await silent.aborted;
    expect(server.requests).toHaveLength(1);
  });

  it("does not ask at all with a signal that has aborted", async () => {
    await using server = await openAIServer();
    const model = await modelOn(server);
    const reason = new Error("Cancelled.");
    await expect(model.call({ messages }, { signal: AbortSignal.abort(reason) })).rejects.toBe(
      reason,
    );
    expect(server.requests).toHaveLength(0);
  });

  it("waits for an answer as long as it takes", async () => {
    const silent = new Silence();
    await using server = await openAIServer({ silent });
    const model = await modelOn(server);
    const call = model.call({ messages }, {});
    await silent.asked;
    silent.release("At last");
    expect((await call).message.text).toBe("At last");
  });
});
