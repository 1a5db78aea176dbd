import { MemorySaver } from "@langchain/langgraph";
import { z } from "zod";
import { describe, expect, it } from "vitest";
import { defineAgent, defineTool, executeAgent } from "../../../src/index.ts";
import { testRuntime } from "../../helpers/run-agent.ts";

const address = "ada.lovelace@example.org";

const keep = defineTool({
  name: "keep",
  description: "Keeps a customer.",
  input_schema: z.object({ mail: z.email() }),
  persistence: "execution",
  handler: (state, { mail }) => ({
    newState: { ...state, execution: { mail } },
    toolResult: "kept",
  }),
});

const inner = defineAgent({
  name: "inner",
  description: "Keeps.",
  tools: [keep],
  input_schema: z.object({ mail: z.email() }),
  workflow_graph: {
    entry_point: "take",
    nodes: [
      { name: "take", type: "tool", config: { tool: "keep", args: { mail: "${input.mail}" } } },
      { name: "say", type: "llm", config: { prompt: "The customer is ${execution.mail}." } },
    ],
    edges: [
      { from: "take", to: "say" },
      { from: "say", to: "END" },
    ],
  },
});

const outer = defineAgent({
  name: "outer",
  agents: [inner],
  guardrail_config: { input_rails: [{ type: "pii" }] },
  workflow_graph: {
    entry_point: "inside",
    nodes: [
      {
        name: "inside",
        type: "agent",
        config: { agent: "inner", input: { mail: "${input.message}" } },
      },
    ],
    edges: [{ from: "inside", to: "END" }],
  },
});

const threadId = "t";

function textsOf(messages: readonly { readonly text: string }[]): readonly string[] {
  return messages.map(({ text }) => text);
}

describe("what an agent inside reads, where the agent around it has redacted something", () => {
  it("is shown as it was sent", async () => {
    const { runtime, model } = await testRuntime(["Good."], { checkpointer: new MemorySaver() });
    let namespace = "";
    await executeAgent(outer, { message: address }, { runtime, threadId });
    const saver = runtime.checkpointer as MemorySaver;
    for await (const { config } of saver.list({ configurable: { thread_id: threadId } })) {
      namespace ||= String(config.configurable?.["checkpoint_ns"] ?? "");
    }
    const of = { threadId, definition: outer, namespace, step: 1 };
    const { messages } = await runtime.threads.context(of);
    const sent = textsOf(model.requests[0]?.messages ?? []);
    expect(sent.join("\n")).toContain("The customer is <EMAIL_1>.");
    expect(textsOf(messages)).toEqual(sent);
  });

  it("is shown as it would be sent, where it is next", async () => {
    const { runtime, model } = await testRuntime([], { checkpointer: new MemorySaver() });
    await expect(executeAgent(outer, { message: address }, { runtime, threadId })).rejects.toThrow(
      "The script has no reply 1.",
    );
    const { messages } = await runtime.threads.context({ threadId, definition: outer });
    expect(textsOf(messages)).toEqual(textsOf(model.requests[0]?.messages ?? []));
    expect(textsOf(messages).join("\n")).toContain("The customer is <EMAIL_1>.");
  });
});
