export {
  compileAgent,
  createRuntime,
  executeAgent,
  type Runtime,
  type RuntimeOptions,
} from "./app.ts";
export { defineAgent, type AgentOptions, type ToolReference } from "./definition/define-agent.ts";
export { defineTool } from "./definition/define-tool.ts";
export { loadAgent } from "./definition/load-agent.ts";
export type { AgentDefinition } from "./definition/agent-definition.ts";
export { ToolFailure } from "./tools/tool-failure.ts";
export type { AgentGraph } from "./compile/compile-agent.ts";
