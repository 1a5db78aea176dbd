import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { buildDefinition } from "../../definition/build-definition.ts";
import { subagentKey } from "../../definition/check/agents.ts";
import { isDataTool, toolEntryName } from "../../definition/schema/data-tools.ts";
import type { JsonSchema } from "../../definition/schema/json-schema.ts";
import { isAllowed } from "../../tools/admit-call.ts";
import { createToolRegistry, type ToolRegistry } from "../../tools/registry.ts";
import type { Subagent } from "../nodes/run-subagent.ts";
import type { PlannerNode } from "../workflow-plan.ts";
import type { Worker } from "./planner-config.ts";

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
    plan: { description: "A plan to run instead of a model's." },
    success_criteria: { type: "string" },
  },
  required: ["message"],
};

/** Returns a planner as an agent: with the model and prompt of its agent, but another loop. */
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
      // The outer agent's rails check its input and output; its own models read the workers' results.
      guardrail_config: { ...spec.guardrail_config, output_rails: [] },
      llm_config: model === null ? spec.llm_config : { ...spec.llm_config, default_model: model },
      // Its judge checks the result, which deep mode would judge again.
      execution_config: { ...spec.execution_config, mode: "fast", execution_scope: "turn" },
    },
  });
}

/**
 * Returns the workers of a planner node in the order of its list; without a list, the agents and then the code workers
 * of the definition. Agents are named by their own names, even if a path refers to them.
 *
 * @param subagents the compiled agents of the definition, by `subagentKey`
 */
export function workersOf(
  node: PlannerNode,
  { spec, agents, workers }: Pick<AgentDefinition, "spec" | "agents" | "workers">,
  at: { readonly subagents: ReadonlyMap<string, Subagent>; readonly tools: ToolRegistry },
): readonly Worker[] {
  const names = node.workers ?? [...agents.keys(), ...workers.map(({ name }) => name)];
  return names.map((name): Worker => {
    const code = workers.find((worker) => worker.name === name);
    if (code !== undefined) {
      const profile = { name, description: code.description, tools: [] };
      return { kind: "code", code, profile };
    }
    const agent = at.subagents.get(subagentKey({ role: "worker", node: node.name, agent: name }));
    if (agent === undefined) throw new TypeError(`no graph for worker "${name}"`);
    const mayCall = (tool: string) =>
      [spec, agent.definition.spec].every(({ guardrail_config: { tool_rails: rails } }) =>
        isAllowed(tool, { allowed: rails.allowed_tools }),
      );
    return { kind: "agent", agent, profile: profileOf(agent.definition, { ...at, mayCall }) };
  });
}

function profileOf(
  definition: AgentDefinition,
  at: { readonly tools: ToolRegistry; readonly mayCall: (tool: string) => boolean },
): Worker["profile"] {
  const { name, description, system_prompt: prompt } = definition.spec;
  const inline = createToolRegistry(definition.tools);
  const own = definition.spec.tools.flatMap(
    (tool): readonly { readonly name: string; readonly description: string }[] => {
      const ownName = toolEntryName(tool);
      if (ownName === undefined || !at.mayCall(ownName)) return [];
      if (isDataTool(tool)) return [tool];
      const found = inline.get(ownName) ?? at.tools.get(ownName);
      return found === undefined ? [] : [found.definition];
    },
  );
  return {
    name,
    description: description || prompt.role || prompt.instructions || "",
    tools: own.map((tool) => ({ name: tool.name, description: tool.description })),
  };
}
