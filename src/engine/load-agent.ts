import type { CompileServices } from "../compile/compile-agent.ts";
import type { AgentDefinition } from "../definition/agent-definition.ts";

/** An agent, ready to be executed. */
export interface LoadedAgent {
  readonly definition: AgentDefinition;
  /** Those that were given, or with more agents and tools. */
  readonly services: CompileServices;
}
