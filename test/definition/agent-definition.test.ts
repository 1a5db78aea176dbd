import { expect, it } from "vitest";
import { mayCallModel } from "../../src/definition/agent-definition.ts";
import { defineAgent } from "../../src/index.ts";

const flow = (name: string, node: object, more: object = {}) =>
  defineAgent({
    name,
    tools: ["current_time"],
    workflow_graph: {
      entry_point: "first",
      nodes: [{ name: "first", ...node }],
      edges: [{ from: "first", to: "END" }],
    },
    ...more,
  } as never);
const tool = { type: "tool", config: { tool: "current_time", args: {} } };
const inner = flow("inner", tool);
const human = { type: "human", config: { kind: "input", prompt: "?" } };

it.each([
  ["the standard loop", defineAgent({ name: "loop" }), true],
  ["an llm node", flow("a", { type: "llm", config: {} }), true],
  ["a tool", inner, false],
  ["a person", flow("a", human), false],
  [
    "an agent that does not",
    flow("a", { type: "agent", config: { agent: "inner" } }, { agents: [inner] }),
    false,
  ],
  ["an agent from elsewhere", flow("a", { type: "agent", config: { agent: "inner" } }), true],
  [
    "a rail on what comes in",
    flow("a", tool, { guardrail_config: { input_rails: [{ type: "pii" }] } }),
    true,
  ],
])("knows of %s whether a model may be asked", (_what, agent, asks) => {
  expect(mayCallModel(agent)).toBe(asks);
});
