import type { AgentDefinition } from "../definition/agent-definition.ts";
import {
  agentInputProblems,
  agentReferences,
  maxAgentDepth,
  subagentKey,
  type AgentReference,
} from "../definition/check/agents.ts";
import { InvalidDefinitionError } from "../definition/check/problems.ts";
import type { AgentGraph } from "./agent-graph.ts";
import type { AgentRegistry } from "./agent-registry.ts";
import type { Subagent } from "./nodes/run-subagent.ts";
import {
  AgentDepthError,
  AgentRecursionError,
  InactiveSubagentError,
  UnknownAgentError,
} from "./subagent-errors.ts";

/**
 * Compiles the agents of a definition's nodes, workers of planner nodes included, after the agents nested in them. Each
 * is compiled once, however many nodes name it.
 *
 * @returns them by {@link subagentKey}
 * @throws UnknownAgentError, InactiveSubagentError, AgentRecursionError, AgentDepthError, InvalidDefinitionError for a
 * node's input that its agent does not accept, and the errors of `compile`
 */
export async function compileSubagents(
  definition: AgentDefinition,
  registry: AgentRegistry,
  compile: (
    agent: AgentDefinition,
    subagents: ReadonlyMap<string, Subagent>,
  ) => Promise<AgentGraph>,
): Promise<ReadonlyMap<string, Subagent>> {
  const resolved = resolveSubagents(definition, registry);
  const graphs = new Map<AgentDefinition, Promise<AgentGraph>>();
  const graphOf = (agent: AgentDefinition): Promise<AgentGraph> => {
    const graph =
      graphs.get(agent) ?? subagentsOf(agent).then((subagents) => compile(agent, subagents));
    graphs.set(agent, graph);
    return graph;
  };
  const subagentsOf = async (agent: AgentDefinition) => {
    const keyed = [...(resolved.get(agent) ?? [])];
    return new Map(
      await Promise.all(
        keyed.map(async ([key, sub]) => {
          return [key, { definition: sub, graph: await graphOf(sub) }] as const;
        }),
      ),
    );
  };
  return subagentsOf(definition);
}

/** Resolves the agents that nodes name, by key, for a definition and for every agent nested in it. */
function resolveSubagents(
  root: AgentDefinition,
  registry: AgentRegistry,
): ReadonlyMap<AgentDefinition, ReadonlyMap<string, AgentDefinition>> {
  const resolved = new Map<AgentDefinition, ReadonlyMap<string, AgentDefinition>>();
  /** The longest chain of nested agents from an agent, itself included. */
  const longest = new Map<AgentDefinition, readonly AgentDefinition[]>();

  const visit = (definition: AgentDefinition, around: readonly AgentDefinition[]): void => {
    const chain = [...around, definition];
    const begins = around.indexOf(definition);
    if (begins >= 0) throw new AgentRecursionError(namesOf(chain.slice(begins)));
    const known = longest.get(definition);
    const way = [...around, ...(known ?? [definition])];
    if (way.length > maxAgentDepth) throw new AgentDepthError(namesOf(way));
    if (known !== undefined) return;
    const agents = new Map<string, AgentDefinition>();
    let below: readonly AgentDefinition[] = [];
    for (const reference of agentReferences(definition.spec, definition.agents.keys())) {
      if (isCodeWorker(reference, definition)) continue;
      const agent = named(reference, definition, registry);
      agents.set(subagentKey(reference), agent);
      visit(agent, chain);
      const down = longest.get(agent) ?? [];
      if (down.length > below.length) below = down;
    }
    resolved.set(definition, agents);
    longest.set(definition, [definition, ...below]);
  };
  visit(root, []);
  return resolved;
}

function isCodeWorker({ role, agent }: AgentReference, { workers }: AgentDefinition): boolean {
  return role === "worker" && workers.some(({ name }) => name === agent);
}

function named(
  reference: AgentReference,
  by: AgentDefinition,
  registry: AgentRegistry,
): AgentDefinition {
  const { agent: name, node, role } = reference;
  const own = by.agents.get(name);
  const agent = own ?? registry.get(name);
  if (agent === undefined) {
    const workers = role === "worker" ? by.workers.map((worker) => worker.name) : [];
    const known = new Set([...by.agents.keys(), ...registry.keys(), ...workers]);
    throw new UnknownAgentError({
      agent: name,
      node,
      role,
      within: by.spec.name,
      known: [...known],
    });
  }
  if (!agent.spec.is_active) throw new InactiveSubagentError(name, node, by.spec.name);
  // Agents that came with the definition were checked with it.
  const problems = own === undefined ? agentInputProblems(reference, by.spec, agent) : [];
  if (problems.length > 0) {
    throw new InvalidDefinitionError(
      problems.map((problem) => ({ ...problem, ...(by.source && { file: by.source }) })),
    );
  }
  return agent;
}

function namesOf(agents: readonly AgentDefinition[]): readonly string[] {
  return agents.map(({ spec }) => spec.name);
}
