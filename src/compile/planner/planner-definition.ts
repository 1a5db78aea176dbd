import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { buildDefinition } from "../../definition/build-definition.ts";
import type { JsonSchema } from "../../definition/json-schema.ts";
import type { PlannerNode } from "../plan/plan-node.ts";

const textSchema: JsonSchema = {
  type: "object",
  properties: { message: { type: "string" } },
  required: ["message"],
  additionalProperties: false,
};

const inputSchema: JsonSchema = {
  type: "object",
  properties: {
    message: { type: "string", description: "The task." },
    plan: { description: "A plan to run instead of one that the model makes." },
    success_criteria: { type: "string" },
  },
  required: ["message"],
};

/** A planner as an agent of its own: the agent that its node belongs to, with its model and prompt, but another loop. */
export function plannerDefinition(
  { spec, rails }: AgentDefinition,
  node: PlannerNode,
): AgentDefinition {
  const { workflow_graph: _workflow, ...rest } = spec;
  const { model } = node;
  return buildDefinition({
    rails,
    spec: {
      ...rest,
      name: node.name.toLowerCase(),
      description: node.description,
      input_schema: inputSchema,
      output_schema: node.answerSchema ?? textSchema,
      tools: [],
      // The agent around it looks at what goes out, and at what comes in; its models read what workers give.
      guardrail_config: { ...spec.guardrail_config, output_rails: [] },
      llm_config: model === null ? spec.llm_config : { ...spec.llm_config, default_model: model },
      // Its judge looks at the result, so that deep mode would judge it twice.
      execution_config: { ...spec.execution_config, mode: "fast", execution_scope: "turn" },
    },
  });
}
