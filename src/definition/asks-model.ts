import type { AgentDefinition } from "./agent-definition.ts";

/**
 * Whether runs of an agent may ask a model: by the standard loop, by a node of its workflow, or as a judge of its
 * guardrails. An agent inside that does not come with the definition may.
 */
export function asksModel(definition: Pick<AgentDefinition, "spec" | "agents">): boolean {
  const { workflow_graph: graph, guardrail_config: rails } = definition.spec;
  if (graph === undefined || graph === null) return true;
  const { input_rails, output_rails } = rails;
  if (input_rails.length > 0 || output_rails.length > 0) return true;
  return graph.nodes.some((node) => {
    switch (node.type) {
      case "llm":
      case "planner":
        return true;
      case "router":
        return node.config.choices !== undefined;
      case "agent": {
        const agent = definition.agents.get(node.config.agent);
        return agent === undefined || asksModel(agent);
      }
      case "human":
      case "tool":
        return false;
    }
  });
}
