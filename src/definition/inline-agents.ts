import { isRecord } from "../state/is-record.ts";
import type { AgentDefinition } from "./agent-definition.ts";
import { agentInputProblems, agentReferences, isAgentPath } from "./agent-references.ts";
import { showFound, type DefinitionProblem } from "./problems.ts";
import type { AgentSpec } from "./schema.ts";
import { valueAt } from "./value-at.ts";

/** The agents of a TypeScript definition by name. */
export function namedAgents(
  agents: readonly AgentDefinition[],
): ReadonlyMap<string, AgentDefinition> {
  return new Map(agents.map((agent) => [agent.spec.name, agent]));
}

/**
 * What is wrong with the `agents` of a TypeScript definition, and with how its nodes name them.
 * @param spec null where the rest of the definition is not valid
 */
export function inlineAgentProblems(
  written: unknown,
  { spec, agents }: { readonly spec: AgentSpec | null; readonly agents: unknown },
): readonly DefinitionProblem[] {
  if (!Array.isArray(agents)) {
    return [{ path: ["agents"], message: "expected a list of agents", found: showFound(agents) }];
  }
  const given: readonly unknown[] = agents;
  const known = namedAgents(given.filter(isAgentDefinition));
  const references = spec === null ? [] : agentReferences(spec, known.keys());
  const inputs = references.flatMap((reference) => {
    const named = known.get(reference.agent);
    return spec === null || named === undefined ? [] : agentInputProblems(reference, spec, named);
  });
  return [...listProblems(valueAt(written, ["name"]), given), ...pathProblems(written), ...inputs];
}

/** Whether a value is what defineAgent and loadAgent give. */
export function isAgentDefinition(value: unknown): value is AgentDefinition {
  return isRecord(value) && isRecord(value["spec"]) && typeof value["hash"] === "string";
}

function listProblems(own: unknown, agents: readonly unknown[]): readonly DefinitionProblem[] {
  const first = new Map<string, number>();
  return agents.flatMap((agent, index): DefinitionProblem[] => {
    const path = ["agents", index];
    if (!isAgentDefinition(agent)) {
      const message = "expected an agent of defineAgent or loadAgent";
      return [{ path, message, found: showFound(agent) }];
    }
    const { name } = agent.spec;
    if (name === own) {
      return [{ path, message: `agents do not contain themselves: ${name} → ${name}` }];
    }
    const earlier = first.get(name);
    if (earlier !== undefined) {
      return [{ path, message: `"${name}" is already the name of agents[${earlier}]` }];
    }
    first.set(name, index);
    return [];
  });
}

function pathProblems(written: unknown): readonly DefinitionProblem[] {
  return agentReferences(written)
    .filter(({ agent }) => isAgentPath(agent))
    .map(({ agent, at }) => ({
      path: at,
      message:
        "a path is read from files only; load the agent with loadAgent, pass it in agents and name it here",
      found: JSON.stringify(agent),
    }));
}
