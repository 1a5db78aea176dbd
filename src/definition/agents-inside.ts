import type { AgentDefinition } from "./agent-definition.ts";
import { agentReferences } from "./agent-references.ts";

/** A definition and those that came with it, at any depth, each once. */
export function withAgentsInside(
  definition: AgentDefinition,
  known = new Set<AgentDefinition>(),
): ReadonlySet<AgentDefinition> {
  if (known.has(definition)) return known;
  known.add(definition);
  for (const inside of definition.agents.values()) withAgentsInside(inside, known);
  return known;
}

/** The agents and workers that came with a definition. */
type Beside = Pick<AgentDefinition, "agents" | "workers">;

/**
 * Names of the tools of the agents inside of one, at any depth: its tool rails bound their calls, and may name them.
 * Undefined where not all are known: the runtime has an agent, or servers and packages name tools of their own.
 *
 * @param written the definition as it was written, whatever is wrong with it
 */
export function toolsInside(written: unknown, beside: Beside): readonly string[] | undefined {
  const names = new Set<string>();
  const isWhole = addInside(written, beside, { names, seen: new Set() });
  return isWhole ? [...names] : undefined;
}

interface Found {
  readonly names: Set<string>;
  readonly seen: Set<AgentDefinition>;
}

/** Returns whether all names are known. */
function addInside(written: unknown, { agents, workers }: Beside, found: Found): boolean {
  const references = agentReferences(written, agents.keys());
  const areKnown = references.every(
    ({ agent }) => agents.has(agent) || workers.some(({ name }) => name === agent),
  );
  const inside = [...agents.values()].map((agent) => addAgent(agent, found));
  return areKnown && inside.every(Boolean);
}

function addAgent(agent: AgentDefinition, found: Found): boolean {
  if (found.seen.has(agent)) return true;
  found.seen.add(agent);
  const { spec, tools, hasAllTools = false } = agent;
  for (const entry of spec.tools) if (typeof entry === "string") found.names.add(entry);
  for (const { definition } of tools) found.names.add(definition.name);
  const isWhole = hasAllTools || spec.tools.every((entry) => typeof entry === "string");
  return addInside(spec, agent, found) && isWhole;
}
