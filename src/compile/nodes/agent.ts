import type { AgentDefinition } from "../../definition/agent-definition.ts";
import type { TemplateValue } from "../../expression/template-value.ts";
import type { AgentGraph } from "../agent-graph.ts";
import type { AgentNode } from "../plan/plan-node.ts";
import type { NodeWork } from "./node-work.ts";

/** An agent that is a node of another. */
export interface Subagent {
  readonly definition: AgentDefinition;
  readonly graph: AgentGraph;
}

export interface AgentNodeParts {
  readonly plan: AgentNode;
  readonly input: TemplateValue | null;
  readonly agent: Subagent;
}

/** Runs another agent as a subgraph with its own two tiers. */
export function agentNode(parts: AgentNodeParts): NodeWork {
  return () => {
    throw new TypeError(`agent node "${parts.plan.name}" is not there yet`);
  };
}
