import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { defineAgent, type AgentDefinition } from "../../src/index.ts";

/** Drafts, asks, and writes with what was answered. */
export const asker = defineAgent({
  name: "asker",
  workflow_graph: {
    entry_point: "draft",
    nodes: [
      { name: "draft", type: "llm", config: { prompt: "Draft ${input.message}" } },
      {
        name: "ask",
        type: "human",
        config: { kind: "input", prompt: "${nodes.draft.text}?" },
      },
      { name: "write", type: "llm", config: { prompt: "Write ${nodes.ask.value}" } },
    ],
    edges: [
      { from: "draft", to: "ask" },
      { from: "ask", to: "write" },
      { from: "write", to: "END" },
    ],
  },
});

/** Says something, then runs the agent in its node. */
export function around(name: string, agent: AgentDefinition, node = "inner") {
  return defineAgent({
    name,
    agents: [agent],
    execution_config: { max_attempts: 1 },
    workflow_graph: {
      entry_point: "before",
      nodes: [
        { name: "before", type: "llm", config: { prompt: `Before ${name}` } },
        { name: node, type: "agent", config: { agent: agent.spec.name } },
      ],
      edges: [
        { from: "before", to: node },
        { from: node, to: "END" },
      ],
    },
  });
}

/** A workflow of the one agent node `it`. */
export function single(config: object, agent: AgentDefinition, options: object = {}) {
  return defineAgent({
    name: "top",
    agents: [agent],
    execution_config: { max_attempts: 1 },
    workflow_graph: {
      entry_point: "it",
      nodes: [{ name: "it", type: "agent", config: config as { agent: string } }],
      edges: [{ from: "it", to: "END" }],
    },
    ...options,
  });
}

/** The last state of the agent or planner in a node of the thread `t`. */
export async function insideOf(checkpointer: BaseCheckpointSaver | undefined, node = "inner") {
  const all = checkpointer?.list({ configurable: { thread_id: "t" } }) ?? [];
  for await (const { checkpoint, config } of all) {
    const namespace = String(config.configurable?.["checkpoint_ns"]);
    if (namespace.startsWith(`${node}:`) && !namespace.includes("|"))
      return checkpoint.channel_values;
  }
  throw new Error("there is no state");
}
