import type { AgentDefinition } from "../definition/agent-definition.ts";
import { AgentClashError } from "./subagent-errors.ts";

/** Agents by name. */
export type AgentRegistry = ReadonlyMap<string, AgentDefinition>;

/** @throws AgentClashError */
export function createAgentRegistry(agents: readonly AgentDefinition[]): AgentRegistry {
  const registry = new Map<string, AgentDefinition>();
  for (const agent of agents) {
    const { name } = agent.spec;
    if (registry.has(name)) throw new AgentClashError(name);
    registry.set(name, agent);
  }
  return registry;
}
