import type { AgentTool } from "../definition/tool.ts";
import type { ModelTool } from "../models/agent-model.ts";

/** All that a model is told of a tool. */
export function toModelTool(tool: AgentTool): ModelTool {
  const { name, description, input_schema } = tool.definition;
  return { name, description, input_schema };
}
