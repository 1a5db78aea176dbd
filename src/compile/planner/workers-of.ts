import type { AgentDefinition } from "../../definition/agent-definition.ts";
import { subagentKey } from "../../definition/agent-references.ts";
import { isAllowed } from "../../tools/admit-call.ts";
import { createToolRegistry, type ToolRegistry } from "../../tools/registry.ts";
import type { Subagent } from "../nodes/run-subagent.ts";
import type { PlannerNode } from "../plan/plan-node.ts";
import type { Worker } from "./planner-parts.ts";

/**
 * The workers of a planner node in the order in which it lists them; without a list the agents and then the workers of
 * code that came with the definition. Agents go by their own names, also where a path names them.
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
  const own = definition.spec.tools.flatMap((tool) => {
    if (typeof tool !== "string" || !at.mayCall(tool)) return [];
    const found = inline.get(tool) ?? at.tools.get(tool);
    return found === undefined ? [] : [found.definition];
  });
  return {
    name,
    description: description || prompt.role || prompt.instructions || "",
    tools: own.map((tool) => ({ name: tool.name, description: tool.description })),
  };
}
