import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { createRuntime, defineAgent, executeAgent } from "../../src/index.ts";
import { openAIServer, Silence, type OpenAIServer } from "../helpers/openai-server.ts";

async function runtimeFor(options: { maxRetries?: number } = {}) {
  return createRuntime({
    checkpointer: false,
    env: { OPENAI_API_KEY: "sk-test-not-a-key" },
    modelOptions: { maxRetries: 0, ...options },
  });
}

function agentOn(server: OpenAIServer, more: { fallback_model?: string } = {}) {
  return defineAgent({
    name: "remote",
    tools: ["calculator"],
    llm_config: { default_model: "openai:gpt-4o-mini", base_url: server.url, ...more },
  });
}

const sum = { calls: [{ name: "calculator", args: { expression: "6*7" } }] };

describe("an agent on an OpenAI-compatible server", () => {
  it("calls tools, reads their results and counts tokens and cost", async () => {
    await using server = await openAIServer(sum, { text: "It is 42." });
    const runtime = await runtimeFor();
    const result = await executeAgent(agentOn(server), { message: "6*7?" }, { runtime });
    expect(result.output).toEqual({ message: "It is 42." });
    expect(result.usage).toMatchObject({
      tokens_in: 200,
      tokens_out: 40,
      llm_calls: 2,
      tool_calls: 1,
    });
    expect(result.usage.cost_usd).toBeGreaterThan(0);
    expect(server.requests[1]?.body.messages.map((message) => message["role"])).toEqual([
      "system",
      "user",
      "assistant",
      "tool",
    ]);
    expect(server.requests[1]?.body.messages.at(-1)?.["content"]).toContain("42");
  });

  it("streams the tokens of the answer", async () => {
    await using server = await openAIServer({ text: "It is forty two." });
    const tokens: string[] = [];
    const runtime = await runtimeFor();
    await executeAgent(
      agentOn(server),
      { message: "6*7?" },
      { runtime, onToken: (text) => void tokens.push(text) },
    );
    expect(server.requests[0]?.body.stream).toBe(true);
    expect(tokens.join("")).toBe("It is forty two.");
    expect(tokens.filter((text) => text !== "").length).toBeGreaterThan(1);
  });

  it("says in the record that the fallback answered", async () => {
    await using server = await openAIServer({ status: 500 }, { text: "Hello." });
    const runtime = await runtimeFor();
    const agent = agentOn(server, { fallback_model: "openai:gpt-4o" });
    const { steps } = await executeAgent(agent, { message: "hi" }, { runtime });
    expect(steps[0]).toMatchObject({
      model: "openai:gpt-4o",
      fallback: { from: "openai:gpt-4o-mini", reason: "outage" },
    });
  });

  it("fails the turn with a cause when no model answers, without the key", async () => {
    await using server = await openAIServer({ status: 401, message: "bad key sk-test-not-a-key" });
    const runtime = await runtimeFor();
    const result = await executeAgent(agentOn(server), { message: "hi" }, { runtime });
    expect(result).toMatchObject({ status: "FAILED", failure: { cause: "model_call" } });
    expect(JSON.stringify(result)).not.toContain("sk-test-not-a-key");
  });

  it("gives up the request when the turn is cancelled", async () => {
    const silent = new Silence();
    await using server = await openAIServer({ silent });
    const abort = new AbortController();
    const runtime = await runtimeFor();
    const running = executeAgent(
      agentOn(server),
      { message: "hi" },
      { runtime, signal: abort.signal },
    );
    await silent.asked;
    abort.abort();
    expect((await running).status).toBe("CANCELLED");
    await silent.aborted;
  });

  it("refuses an unknown model for one run before anything is written", async () => {
    const checkpointer = new MemorySaver();
    const runtime = await createRuntime({ checkpointer, env: {} });
    const agent = defineAgent({ name: "offline" });
    const options = { runtime, threadId: "t", model: "opnai:gpt-4o" };
    await expect(executeAgent(agent, { message: "hi" }, options)).rejects.toMatchObject({
      code: "unknown_model",
    });
    expect(await checkpointer.getTuple({ configurable: { thread_id: "t" } })).toBeUndefined();
  });

  it("takes another model for one run", async () => {
    await using server = await openAIServer({ text: "Hello." });
    const runtime = await runtimeFor();
    const options = { runtime, model: "openai:gpt-4.1", temperature: 0.3 };
    const { steps } = await executeAgent(agentOn(server), { message: "hi" }, options);
    expect(steps[0]?.model).toBe("openai:gpt-4.1");
    expect(server.requests[0]?.body).toMatchObject({ model: "gpt-4.1", temperature: 0.3 });
  });
});
