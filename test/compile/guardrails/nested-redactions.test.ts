import { MemorySaver } from "@langchain/langgraph";
import { z } from "zod";
import { describe, expect, it } from "vitest";
import { defineAgent, defineTool, defineWorker, executeAgent } from "../../../src/index.ts";
import { testRuntime } from "../../helpers/run-agent.ts";

const address = "ada@example.org";
const guardrail_config = { input_rails: [{ type: "pii" as const }] };

function mailTool() {
  const sentTo: string[] = [];
  const mail = defineTool({
    name: "mail",
    description: "Sends a mail.",
    input_schema: z.object({ to: z.string() }),
    handler: ({ to }) => void sentTo.push(to),
  });
  return { mail, sentTo };
}

describe("redactions", () => {
  it("are handed down to agents inside, whose tools get the value and whose models do not", async () => {
    const { mail, sentTo } = mailTool();
    const inner = defineAgent({ name: "inner", tools: [mail], guardrail_config });
    const outer = defineAgent({
      name: "outer",
      agents: [inner],
      guardrail_config,
      workflow_graph: {
        entry_point: "send",
        nodes: [{ name: "send", type: "agent", config: { agent: "inner" } }],
        edges: [{ from: "send", to: "END" }],
      },
    });
    const { runtime, model } = await testRuntime([
      { calls: [{ name: "mail", args: { to: "<EMAIL_1>" } }] },
      "Sent to <EMAIL_1>.",
    ]);
    const result = await executeAgent(outer, { message: `Write to ${address}` }, { runtime });
    expect(sentTo).toEqual([address]);
    expect(result.output).toEqual({ message: `Sent to ${address}.` });
    expect(JSON.stringify(model.requests)).not.toContain(address);
  });

  it("reach workers of a planner: code gets values, agents their tools", async () => {
    const { mail, sentTo } = mailTool();
    const told: string[] = [];
    const note = defineWorker({
      name: "note",
      description: "Notes.",
      run: ({ description }) => {
        told.push(description);
        return `noted ${description}`;
      },
    });
    const writer = defineAgent({ name: "writer", description: "Writes.", tools: [mail] });
    const planner = defineAgent({
      name: "planning",
      workers: [note],
      agents: [writer],
      guardrail_config,
      workflow_graph: {
        entry_point: "do",
        nodes: [{ name: "do", type: "planner", config: { workers: ["note", "writer"] } }],
        edges: [{ from: "do", to: "END" }],
      },
    });
    const plan = {
      subtasks: [
        { id: "a", description: "Note <EMAIL_1>", worker: "note" },
        { id: "b", description: "Mail <EMAIL_1>", worker: "writer", depends_on: ["a"] },
      ],
    };
    const { runtime, model } = await testRuntime([
      JSON.stringify(plan),
      { calls: [{ name: "mail", args: { to: "<EMAIL_1>" } }] },
      "Mailed.",
      "All done for <EMAIL_1>.",
      '{"gaps":[]}',
    ]);
    const result = await executeAgent(planner, { message: `Serve ${address}` }, { runtime });
    expect(told).toEqual([`Note ${address}`]);
    expect(sentTo).toEqual([address]);
    expect(JSON.stringify(model.requests)).not.toContain(address);
    expect(JSON.stringify(result.output)).toContain(address);
  });

  it("are there when another process goes on with a turn that waited", async () => {
    const { mail, sentTo } = mailTool();
    const checkpointer = new MemorySaver();
    const agent = defineAgent({
      name: "asker",
      tools: [mail],
      guardrail_config: { ...guardrail_config, tool_rails: { require_approval: ["mail"] } },
    });
    const threadId = "t";
    const first = await testRuntime([{ calls: [{ name: "mail", args: { to: "<EMAIL_1>" } }] }], {
      checkpointer,
    });
    await executeAgent(
      agent,
      { message: `Write to ${address}` },
      { runtime: first.runtime, threadId },
    );
    const second = await testRuntime(["Sent."], { checkpointer });
    await executeAgent(agent, null, { runtime: second.runtime, threadId, answer: true });
    expect(sentTo).toEqual([address]);
  });

  it("keep what handlers put into the state out of prompts", async () => {
    const keep = defineTool({
      name: "keep",
      description: "Keeps a customer.",
      input_schema: z.object({ mail: z.string() }),
      persistence: "execution",
      handler: (state, { mail }) => {
        return { newState: { ...state, execution: { mail } }, toolResult: "kept" };
      },
    });
    const agent = defineAgent({
      name: "keeper",
      tools: [keep],
      guardrail_config,
      workflow_graph: {
        entry_point: "take",
        nodes: [
          { name: "take", type: "tool", config: { tool: "keep", args: { mail: "<EMAIL_1>" } } },
          { name: "say", type: "llm", config: { prompt: "The customer is ${execution.mail}." } },
        ],
        edges: [
          { from: "take", to: "say" },
          { from: "say", to: "END" },
        ],
      },
    });
    const { runtime, model } = await testRuntime(["Good."]);
    const { state } = await executeAgent(agent, { message: `I am ${address}` }, { runtime });
    expect(state.execution).toEqual({ mail: address });
    expect(JSON.stringify(model.requests)).toContain("The customer is <EMAIL_1>.");
    expect(JSON.stringify(model.requests)).not.toContain(address);
  });
});
