import { MemorySaver } from "@langchain/langgraph";
import { z } from "zod";
import { describe, expect, it } from "vitest";
import { defineAgent, defineTool, executeAgent } from "../../../src/index.ts";
import { testRuntime } from "../../helpers/run-agent.ts";
import type { ScriptedReply } from "../../helpers/scripted-model.ts";
import { wordRail } from "../../helpers/word-rail.ts";

const address = "ada.lovelace@example.org";
const pii = { input_rails: [{ type: "pii" as const }] };
const word = { input_rails: [{ type: "custom" as const, name: "word" }] };

/** A turn that waits for one answer, and goes on with it. */
async function answered(
  agent: ReturnType<typeof defineAgent>,
  answer: unknown,
  { before = [], after }: { before?: ScriptedReply[]; after: ScriptedReply[] },
) {
  const { runtime, model } = await testRuntime([...before, ...after], {
    checkpointer: new MemorySaver(),
  });
  await executeAgent(
    agent,
    { message: "What will the weather be like this weekend?" },
    { runtime, threadId: "t" },
  );
  const result = await executeAgent(agent, null, { runtime, threadId: "t", answer });
  return { result, model };
}

function asking(kind: "input" | "approval" | "edit", of: object = {}) {
  return defineAgent({
    name: "asking",
    guardrail_config: pii,
    workflow_graph: {
      entry_point: "ask",
      nodes: [
        {
          name: "ask",
          type: "human",
          config: { kind, prompt: "Which?", ...(kind !== "input" && { proposed: "this" }) },
        },
        {
          name: "say",
          type: "llm",
          config: { prompt: "Say ${nodes.ask.value} ${nodes.ask.reason}" },
        },
      ],
      edges: [
        { from: "ask", to: "say", condition: "nodes.ask.approved || !nodes.ask.approved" },
        { from: "say", to: "END" },
      ],
    },
    ...of,
  });
}

describe("what a person answers a human node", () => {
  it("has marks in place of personal data before a model reads it", async () => {
    const { result, model } = await answered(asking("input"), `to ${address}`, {
      after: ["Sent to <EMAIL_1>."],
    });
    expect(model.read(0).join("\n")).toContain("Say to <EMAIL_1>");
    expect(JSON.stringify(model.requests)).not.toContain(address);
    expect(result.output).toEqual({ message: `Sent to ${address}.` });
    expect(result.rails).toMatchObject([
      { rail: "pii", on: "input", verdict: "pass" },
      { rail: "pii", on: "input", verdict: "redact", step_index: null, call_id: null },
    ]);
  });

  it("also where it rejects what was proposed, with a reason", async () => {
    const answer = { decision: "reject", reason: `ask ${address}` };
    const { model } = await answered(asking("approval"), answer, { after: ["Done."] });
    expect(model.read(0).join("\n")).toContain("ask <EMAIL_1>");
    expect(JSON.stringify(model.requests)).not.toContain(address);
  });

  it("is not looked at where nothing was written", async () => {
    const { result } = await answered(asking("approval"), true, { after: ["Done."] });
    expect(result.rails).toMatchObject([{ verdict: "pass", spans: [] }]);
  });

  it("ends the turn where a guardrail blocks it", async () => {
    const agent = asking("input", {
      rails: [wordRail("evil", "block", ["input"])],
      guardrail_config: word,
    });
    const { result, model } = await answered(agent, "some evil", { after: [] });
    expect(result).toMatchObject({ status: "FAILED", failure: { cause: "guardrail:word" } });
    expect(JSON.stringify(result)).not.toContain("some evil");
    expect(model.requests).toEqual([]);
  });

  it("need not be on the topics that requests must be on", async () => {
    const agent = asking("input", {
      guardrail_config: {
        input_rails: [{ type: "topic", config: { deny: ["medical advice"] } }],
      },
    });
    const { result } = await answered(agent, "medical advice", { after: ["Done."] });
    expect(result.status).toBe("COMPLETED");
  });
});

describe("what a person answers about calls", () => {
  const sentTo: string[] = [];
  const mail = defineTool({
    name: "mail",
    description: "Sends a mail.",
    input_schema: z.object({ to: z.email() }),
    handler: ({ to }) => {
      sentTo.push(to);
      return "sent";
    },
  });
  const mailer = (of: object = {}) =>
    defineAgent({
      name: "mailer",
      tools: [mail],
      guardrail_config: { ...pii, tool_rails: { require_approval: ["mail"] } },
      ...of,
    });
  const before = [{ calls: [{ name: "mail", args: { to: "bob@example.org" } }] }];

  it("has marks in edited arguments, and the tool gets the values", async () => {
    const answer = { decision: "edit", args: { to: address } };
    const { result, model } = await answered(mailer(), answer, { before, after: ["Sent."] });
    expect(sentTo).toEqual([address]);
    expect(result.steps[0]?.tool_results[0]?.args).toEqual({ to: "<EMAIL_1>" });
    expect(JSON.stringify(model.requests)).not.toContain(address);
  });

  it("has them in the reason of a rejection", async () => {
    const answer = { decision: "reject", reason: `ask ${address}` };
    const { model } = await answered(mailer(), answer, { before, after: ["Well."] });
    expect(model.read(1).join("\n")).toContain("A person rejected this call: ask <EMAIL_1>");
    expect(JSON.stringify(model.requests)).not.toContain(address);
  });

  it("ends the turn where a guardrail blocks it, and no call is made", async () => {
    sentTo.length = 0;
    const agent = mailer({
      rails: [wordRail("evil", "block", ["input"])],
      guardrail_config: { ...word, tool_rails: { require_approval: ["mail"] } },
    });
    const answer = { decision: "edit", args: { to: "evil@example.org" } };
    const { result, model } = await answered(agent, answer, { before, after: [] });
    expect(result).toMatchObject({ status: "FAILED", failure: { cause: "guardrail:word" } });
    expect(sentTo).toEqual([]);
    expect(model.requests).toHaveLength(1);
  });

  it("has them in a tool node of a workflow too", async () => {
    sentTo.length = 0;
    const agent = mailer({
      workflow_graph: {
        entry_point: "send",
        nodes: [
          { name: "send", type: "tool", config: { tool: "mail", args: { to: "bob@example.org" } } },
        ],
        edges: [{ from: "send", to: "END" }],
      },
    });
    const answer = { decision: "edit", args: { to: address } };
    const { result } = await answered(agent, answer, { after: [] });
    expect(sentTo).toEqual([address]);
    expect(result.steps[0]?.tool_results[0]?.args).toEqual({ to: "<EMAIL_1>" });
  });
});
