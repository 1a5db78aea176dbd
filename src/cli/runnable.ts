import type { AgentDefinition } from "../definition/agent-definition.ts";

/** The agent as if it were active and had a model: both are judged apart, and would end compiling early. */
export function runnable(definition: AgentDefinition): AgentDefinition {
  const llm_config = { default_model: "offline:rules" };
  return { ...definition, spec: { ...definition.spec, is_active: true, llm_config } };
}
