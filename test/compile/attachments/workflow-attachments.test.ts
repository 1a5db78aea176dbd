import { expect, it } from "vitest";
import { createRuntime, defineAgent, executeAgent } from "../../../src/index.ts";
import { attached, imagesSent, lampPng } from "../../helpers/attachments.ts";
import { openAIServer, type OpenAIServer } from "../../helpers/openai-server.ts";

const url = `data:image/png;base64,${lampPng.toString("base64")}`;

function run(
  server: OpenAIServer,
  nodes: readonly object[],
  agents: ReturnType<typeof defineAgent>[],
) {
  const agent = defineAgent({
    name: "outer",
    llm_config: { default_model: "openai:gpt-4o-mini", base_url: server.url },
    agents,
    workflow_graph: {
      entry_point: "look",
      nodes: nodes as never,
      edges: [{ from: "look", to: "END" }],
    },
  });
  return async () => {
    const runtime = await createRuntime({
      checkpointer: false,
      env: { OPENAI_API_KEY: "sk-test-not-a-key" },
    });
    const attachments = [attached(lampPng, "lamp.png", "image/png")];
    return executeAgent(agent, { message: "What is this?" }, { runtime, attachments });
  };
}

it("reach the models of workflow nodes", async () => {
  await using server = await openAIServer({ text: "A lamp." });
  const look = { name: "look", type: "llm", config: { prompt: "Name it." } };
  const { output } = await run(server, [look], [])();
  expect(output).toEqual({ message: "A lamp." });
  expect(imagesSent(server, 0)).toEqual([url]);
});

it.each([
  ["shared", [url]],
  ["own", []],
])("reach a nested agent where the conversation is %s: %j", async (conversation, images) => {
  await using server = await openAIServer({ text: "A lamp." });
  const inner = defineAgent({
    name: "inner",
    description: "Looks.",
    llm_config: { default_model: "openai:gpt-4o-mini", base_url: server.url },
  });
  const config = { agent: "inner", conversation, input: { message: "Name it." } };
  const { status, attempts } = await run(
    server,
    [{ name: "look", type: "agent", config }],
    [inner],
  )();
  expect([status, attempts[0]?.errors]).toEqual(["COMPLETED", []]);
  expect(imagesSent(server, 0)).toEqual(images);
});
