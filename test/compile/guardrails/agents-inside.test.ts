import { z } from "zod";
import { describe, expect, it } from "vitest";
import { defineAgent, defineTool, defineWorker, executeAgent } from "../../../src/index.ts";
import { testRuntime } from "../../helpers/run-agent.ts";
import { wordRail } from "../../helpers/word-rail.ts";

const address = "ada.lovelace@example.org";
const pii = { input_rails: [{ type: "pii" as const, config: { tool_results: true } }] };
const word = { input_rails: [{ type: "custom" as const, name: "word" }] };

const find = defineTool({
  name: "find",
  description: "Finds.",
  input_schema: z.object({}),
  handler: () => `it is ${address}`,
});

type Edges = readonly { readonly from: string; readonly to: string; readonly condition?: string }[];

/** The node `x`, and then `y`, which says what `x` gave. */
function flow(x: object, prompt: string, edges: Edges = [{ from: "x", to: "y" }]) {
  return {
    entry_point: "x",
    nodes: [
      { name: "x", ...x },
      { name: "y", type: "llm" as const, config: { prompt } },
    ],
    edges: [...edges, { from: "y", to: "END" }],
  } as Parameters<typeof defineAgent>[0]["workflow_graph"];
}

const agentInside = { type: "agent", config: { agent: "inner" } };

describe("an input that an agent inside blocks", () => {
  const inner = defineAgent({
    name: "inner",
    description: "Answers.",
    rails: [wordRail("evil", "block", ["input"])],
    guardrail_config: word,
  });

  it("ends the turn at once, with the guardrail as its cause", async () => {
    const outer = defineAgent({
      name: "outer",
      agents: [inner],
      workflow_graph: flow(agentInside, "Go on."),
    });
    const { runtime, model, events, onEvent } = await testRuntime([]);
    const result = await executeAgent(outer, { message: "evil" }, { runtime, onEvent });
    expect(result).toMatchObject({ status: "FAILED", failure: { cause: "guardrail:word" } });
    expect(events.filter(({ type }) => type === "attempt_failed")).toEqual([]);
    expect(model.requests).toEqual([]);
  });

  it("is left to an edge that asks about it", async () => {
    const edges = [
      { from: "x", to: "y", condition: 'nodes.x.status == "FAILED"' },
      { from: "x", to: "END" },
    ];
    const outer = defineAgent({
      name: "outer",
      agents: [inner],
      workflow_graph: flow(agentInside, "Say no: ${nodes.x.failure.cause}", edges),
    });
    const { runtime, model } = await testRuntime(["No."]);
    const result = await executeAgent(outer, { message: "evil" }, { runtime });
    expect(result.output).toEqual({ message: "No." });
    expect(model.read(0).join("\n")).toContain("Say no: guardrail:word");
  });

  it("fails a planner's subtask, which is not tried again", async () => {
    const outer = defineAgent({
      name: "outer",
      agents: [inner],
      workflow_graph: flow(
        { type: "planner", config: { workers: ["inner"], retries: 2, on_failure: "fail" } },
        "Go on.",
      ),
    });
    const plan = { subtasks: [{ id: "a", description: "Do evil", worker: "inner" }] };
    const { runtime, events, onEvent } = await testRuntime([JSON.stringify(plan)]);
    const result = await executeAgent(outer, { message: "Do it" }, { runtime, onEvent });
    expect(result.status).toBe("FAILED");
    expect(events.filter(({ type }) => type === "subtask_start")).toHaveLength(1);
  });
});

describe("what an agent inside gives", () => {
  const inner = defineAgent({
    name: "inner",
    description: "Finds.",
    tools: [find],
    guardrail_config: pii,
  });
  const script = [{ calls: [{ name: "find", args: {} }] }, "It is <EMAIL_1>", "<EMAIL_1>, then."];

  it("is redacted as results of tools are, though the agent inside has redacted it itself", async () => {
    const outer = defineAgent({
      name: "outer",
      agents: [inner],
      guardrail_config: pii,
      workflow_graph: flow(agentInside, "Say ${nodes.x.output.message}"),
    });
    const { runtime, model, events, onEvent } = await testRuntime(script);
    const result = await executeAgent(outer, { message: "Which?" }, { runtime, onEvent });
    expect(model.read(2).join("\n")).toContain("Say It is <EMAIL_1>");
    expect(JSON.stringify(model.requests)).not.toContain(address);
    expect(result.output).toEqual({ message: `${address}, then.` });
    expect(result.rails.filter(({ on }) => on === "tool_result")).toMatchObject([
      { rail: "pii", verdict: "redact", step_index: null, call_id: null },
    ]);
    const node = events.find(({ type, within }) => type === "node" && within.length === 0);
    expect(JSON.stringify(node)).not.toContain(address);
  });

  it("has the marks of what the agent around redacted before", async () => {
    const outer = defineAgent({
      name: "outer",
      agents: [defineAgent({ name: "inner", description: "Finds.", tools: [find] })],
      guardrail_config: { input_rails: [{ type: "pii" }] },
      workflow_graph: flow(agentInside, "Say ${nodes.x.output.message}"),
    });
    const { runtime, model } = await testRuntime([`It is ${address}`, "Done."]);
    await executeAgent(outer, { message: `I am ${address}` }, { runtime });
    expect(model.read(1).join("\n")).toContain("Say It is <EMAIL_1>");
  });

  it("is withheld where a guardrail blocks it, and the attempt fails without it", async () => {
    const outer = defineAgent({
      name: "outer",
      agents: [defineAgent({ name: "inner", description: "Answers." })],
      rails: [wordRail("evil", "block", ["tool_result"])],
      guardrail_config: word,
      workflow_graph: flow(agentInside, "Say ${nodes.x.output.message}"),
    });
    const { runtime, model } = await testRuntime(["Some evil.", "Some good.", "Good."]);
    const result = await executeAgent(outer, { message: "Which?" }, { runtime });
    expect(result.output).toEqual({ message: "Good." });
    expect(result.attempts).toMatchObject([
      {
        errors: [
          'agent "inner" of node "x" failed (guardrail:word): The result of agent "inner" was withheld by guardrail word.',
        ],
      },
      { errors: [] },
    ]);
    expect(model.read(2).join("\n")).not.toContain("evil");
  });

  it("is looked at too when a planner gives it", async () => {
    const worker = defineWorker({ name: "look", description: "Looks.", run: () => address });
    const outer = defineAgent({
      name: "outer",
      workers: [worker],
      guardrail_config: pii,
      workflow_graph: flow(
        { type: "planner", config: { workers: ["look"] } },
        "Say ${nodes.x.output.message} ${nodes.x.subtasks.a.result}",
      ),
    });
    const plan = { subtasks: [{ id: "a", description: "Look", worker: "look" }] };
    const { runtime, model } = await testRuntime([
      JSON.stringify(plan),
      `It is ${address}`,
      '{"gaps":[]}',
      "Done.",
    ]);
    await executeAgent(outer, { message: "Which?" }, { runtime });
    expect(model.read(3).join("\n")).toContain("Say It is <EMAIL_1> <EMAIL_1>");
  });
});
